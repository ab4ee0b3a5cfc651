import { readFileSync, writeFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { originalLine } from '../../src/hep/original-line.js';
import { frameVectors, printVectors } from './golden-vectors.js';

const file = new URL('../golden/frames.json', import.meta.url);
const vectors = frameVectors();
// A pinned vector that changes is a change of the contract; UPDATE_GOLDEN=1 is for new ones.
if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, printVectors(vectors));

describe('golden vectors of frames', () => {
  test('are what this codec makes, byte for byte', () => {
    expect(printVectors(vectors) === readFileSync(file, 'utf8')).toBe(true);
  });

  test('have names of their own', () => {
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
  });

  test.each(vectors)('$name: the binary event gives the exact line back', (vector) => {
    const event = fromBinary(EventSchema, Buffer.from(vector.event_hex, 'hex'));
    const line = originalLine(event, 1);
    expect(Buffer.from(line ?? []).toString('base64')).toBe(vector.line_base64);
  });
});
