import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { canonicalText } from '../../src/hep/canonical-text.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import type { FramePayload } from '../../src/hep/frame-kind.js';
import { hot, writeHotFrame } from '../../src/hep/hot-frame.js';
import { hotFrame, hotInteger } from './frame-arbitrary.js';
import { goldenLines } from './golden-lines.js';
import { mutatedLine } from './mutated-line.js';

interface HotResult {
  readonly hex: string;
  readonly kind: string;
  readonly turnId: number;
  readonly isDelta: boolean;
}

/** Writes in the midst of two buffers and holds the writer to the room that it was given. */
function writeHot(
  line: Uint8Array,
  before: string,
  after: string,
  pos: number,
): HotResult | undefined {
  const src = Buffer.concat([Buffer.from(before), line, Buffer.from(after)]);
  const start = Buffer.byteLength(before);
  const room = line.length + 32;
  const dst = new Uint8Array(pos + room + 8).fill(0xaa);
  const end = writeHotFrame(src, start, start + line.length, dst, pos);
  const outside = [...dst.subarray(0, pos), ...dst.subarray(pos + room)];
  expect(outside.filter((byte) => byte !== 0xaa)).toEqual([]);
  if (end < 0) return undefined;
  return { hex: Buffer.from(dst.subarray(pos, end)).toString('hex'), ...hot };
}

/** What the fast path must write for the payload, by protobuf-es. */
function expectedHot(payload: FramePayload): HotResult {
  const turnId = 'turnId' in payload.value ? Number(payload.value.turnId) : 0;
  const isDelta = payload.case === 'messageDelta' || payload.case === 'toolDelta';
  const hex = Buffer.from(toBinary(EventSchema, create(EventSchema, { payload }))).toString('hex');
  return { hex, kind: payload.case ?? '', turnId, isDelta };
}

/** True for the lines that the fast path is for. */
function isHot(line: Uint8Array): boolean {
  const decoded = decodeLine(line);
  if (decoded.kind === 'malformed' || !decoded.canonical || decoded.violations.length > 0)
    return false;
  const { payload } = decoded;
  const fits = (value: bigint = 0n): boolean => value >= 0n && value < 10n ** 15n;
  switch (payload.case) {
    case 'messageDelta':
    case 'toolDelta':
    case 'toolStart':
      return fits(payload.value.turnId);
    case 'toolLiveness':
      return (
        fits(payload.value.turnId) &&
        fits(payload.value.elapsedMs) &&
        fits(payload.value.outputBytes)
      );
    default:
      return false;
  }
}

function expectEqualPaths(line: Uint8Array, before: string, after: string, pos: number): void {
  const decoded = decodeLine(line);
  const expected =
    decoded.kind === 'frame' && isHot(line) ? expectedHot(decoded.payload) : undefined;
  expect(writeHot(line, before, after, pos)).toEqual(expected);
}

/** The text's and the message's length near `edge`, as they are and with escapes before. */
function expectLength(edge: number, length: number): void {
  const text = 'x'.repeat(length);
  const plain = `{"type":"message_delta","turn_id":1,"delta":"${text}"}`;
  const escapes = '\\n'.repeat(edge / 0x80);
  const escaped = `{"type":"tool_delta","turn_id":1,"id":"c","update":"${escapes}${text}"}`;
  for (const line of [plain, escaped]) expectEqualPaths(Buffer.from(line), '', '', 0);
}

const surroundings = fc.constantFrom(['', ''], ['\n', '\n'], ['x', '"}'], ['', '0'], ['"', '",'], [
  'é',
  'é',
] as const);

describe('writeHotFrame', () => {
  test('takes every canonical hot line and writes what protobuf-es writes', () => {
    fc.assert(
      fc.property(
        hotFrame(hotInteger),
        surroundings,
        fc.nat({ max: 9 }),
        (payload, [before = '', after = ''], pos) => {
          const line = canonicalText(payload) ?? new Uint8Array();
          expect(writeHot(line, before, after, pos)).toEqual(expectedHot(payload));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('says yes and no, and writes, just as the general path would, for edited lines', () => {
    fc.assert(
      fc.property(
        mutatedLine,
        surroundings,
        fc.nat({ max: 9 }),
        (line, [before = '', after = ''], pos) => {
          expectEqualPaths(line, before, after, pos);
        },
      ),
      { numRuns: 4000 },
    );
  });

  test('says yes and no, and writes, just as the general path would, for every golden line', () => {
    for (const { line } of goldenLines()) expectEqualPaths(Buffer.from(line), '\n', '\n', 3);
  });

  test('agrees with the general path on every byte at every place of a line', () => {
    const lines = [
      String.raw`{"type":"message_delta","turn_id":10,"delta":"a\n\u001fé中😀b"}`,
      '{"type":"message_delta","turn_id":10,"delta":"long enough for words of eight bytes"}',
      '{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"a","elapsed_ms":5,"output_bytes":7,"detail":"d"}',
    ];
    for (const text of lines) {
      for (let at = 0; at < Buffer.byteLength(text); at++) {
        for (let byte = 0; byte < 256; byte++) {
          const line = Buffer.from(text);
          line[at] = byte;
          const decoded = decodeLine(line);
          const dst = new Uint8Array(line.length + 32);
          const end = writeHotFrame(line, 0, line.length, dst, 0);
          if (end >= 0 !== isHot(line)) throw new Error(`byte ${byte} at ${at} of ${text}`);
          if (end < 0 || decoded.kind !== 'frame') continue;
          const hex = Buffer.from(dst.subarray(0, end)).toString('hex');
          if (hex !== expectedHot(decoded.payload).hex)
            throw new Error(`byte ${byte} at ${at} of ${text}`);
        }
      }
    }
  }, 60_000);

  test('agrees with the general path on every prefix of a line', () => {
    const line = Buffer.from(
      String.raw`{"type":"tool_start","turn_id":1,"id":"call_7","name":"bash","args_summary":"command=\"npm test\" 😀"}`,
    );
    for (let length = 0; length <= line.length; length++) {
      expectEqualPaths(line.subarray(0, length), '', line.subarray(length).toString('latin1'), 0);
    }
  });

  test('writes lengths around every size of a varint', () => {
    for (const edge of [0x80, 0x4000]) {
      for (let length = edge - 24; length <= edge + 4; length++) expectLength(edge, length);
    }
    for (const length of [-12, -6, -5, -1, 0]) expectLength(0x200000, 0x200000 + length);
  }, 60_000);

  test('leaves what comes next line by line in one buffer', () => {
    const lines = ['a', 'b'.repeat(200), ''].map(
      (delta) => `{"type":"message_delta","turn_id":1,"delta":"${delta}"}`,
    );
    const src = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const dst = new Uint8Array(src.length + 32);
    let start = 0;
    let pos = 0;
    for (const line of lines) {
      pos = writeHotFrame(src, start, start + line.length, dst, pos);
      start += line.length + 1;
    }
    const expected = lines.map((line) => {
      const decoded = decodeLine(Buffer.from(line));
      return decoded.kind === 'frame' ? expectedHot(decoded.payload).hex : '';
    });
    expect(Buffer.from(dst.subarray(0, pos)).toString('hex')).toBe(expected.join(''));
  });
});
