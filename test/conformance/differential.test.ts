import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventSchema, MalformedLineSchema } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import { type Sample, sample } from './sample-arbitrary.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LINES = 20_000;
const dir = mkdtempSync(join(tmpdir(), 'hep-conform-'));
const program = join(dir, 'conform');

beforeAll(() => {
  execFileSync('go', ['build', '-o', program, './go/internal/conform'], { cwd: ROOT });
}, 120_000);

afterAll(() => rmSync(dir, { recursive: true, force: true }));

function decodeHere({ line, isFirst }: Sample): string {
  const decoded = decodeLine(line, isFirst);
  const event =
    decoded.kind === 'frame'
      ? {
          payload: decoded.payload,
          lossyText: decoded.lossyText,
          violations: decoded.violations,
          line: decoded.canonical ? new Uint8Array(0) : line,
        }
      : {
          line,
          payload: { case: 'malformedLine' as const, value: create(MalformedLineSchema, decoded) },
        };
  return Buffer.from(
    toBinary(EventSchema, create(EventSchema, { ...event, sequence: 7n })),
  ).toString('hex');
}

function decodeInGo(samples: readonly Sample[]): string[] {
  const input = samples
    .map(({ line, isFirst }) => `${isFirst ? '^' : ''}${Buffer.from(line).toString('base64')}\n`)
    .join('');
  const output = execFileSync(program, { input, maxBuffer: 1 << 30 }).toString();
  return output.split('\n').slice(0, -1);
}

describe('the codecs in TypeScript and in Go', () => {
  const random = Math.floor(Math.random() * 2 ** 31);

  it.each([1, random])('make the same bytes of the same lines (seed %s)', (seed) => {
    const samples = fc.sample(sample, { numRuns: LINES, seed });
    const inGo = decodeInGo(samples);
    expect(inGo).toHaveLength(samples.length);
    const different = samples.flatMap((one, at) => {
      const here = decodeHere(one);
      const line = Buffer.from(one.line).toString('latin1');
      return inGo[at] === here ? [] : [{ line, isFirst: one.isFirst, here, inGo: inGo[at] }];
    });
    expect(different.slice(0, 5)).toEqual([]);
  });
});
