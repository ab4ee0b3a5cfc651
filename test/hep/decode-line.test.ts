import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventSchema, MalformedLine_Reason as Reason } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import { originalLine } from '../../src/hep/original-line.js';
import { decodedEvent } from './decoded-event.js';
import { text } from './frame-arbitrary.js';
import { mutatedLine } from './mutated-line.js';

const anyLine = fc.oneof(
  mutatedLine,
  fc.uint8Array({ maxLength: 60 }),
  fc.json().map((json) => Buffer.from(json)),
  fc
    .string({ unit: fc.constantFrom(...'{}[]",:\\u0019.eE+-truefalsn \t\r') })
    .map((json) => Buffer.from(json)),
);
const runs = { numRuns: 1500 };

function parse(json: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
}

function deltaOf(line: Uint8Array): string | undefined {
  const decoded = decodeLine(line);
  return decoded.kind === 'frame' && decoded.payload.case === 'messageDelta'
    ? decoded.payload.value.delta
    : undefined;
}

describe('decodeLine', () => {
  test('takes any bytes, and the exact line comes back from the binary event', () => {
    fc.assert(
      fc.property(anyLine, fc.boolean(), (line, atStreamStart) => {
        fc.pre(line.length > 0);
        const bytes = toBinary(EventSchema, decodedEvent(line, atStreamStart));
        const back = originalLine(fromBinary(EventSchema, bytes), 1);
        expect(Buffer.from(back ?? []).equals(line)).toBe(true);
      }),
      runs,
    );
  });

  test('agrees with JSON.parse on what is JSON and what is a frame', () => {
    fc.assert(
      fc.property(anyLine, (line) => {
        const json = new TextDecoder('utf-8', { ignoreBOM: true }).decode(line);
        const isUtf8 = Buffer.from(json).equals(line);
        const parsed = parse(json);
        const decoded = decodeLine(line);
        // U+FFFD put for ill-formed bytes is JSON exactly where those may stand: in strings.
        if (parsed === undefined) {
          const reason = isUtf8 ? Reason.NOT_JSON : Reason.INVALID_UTF8;
          expect(decoded).toMatchObject({ kind: 'malformed', reason });
          return;
        }
        const { value } = parsed;
        const type =
          typeof value === 'object' && value !== null && 'type' in value ? value.type : '';
        if (Array.isArray(value) || typeof type !== 'string' || type === '') {
          expect(decoded).toMatchObject({ kind: 'malformed', reason: Reason.NOT_A_FRAME });
        } else {
          expect(decoded.kind).toBe('frame');
        }
      }),
      runs,
    );
  });

  test('reads strings as JSON.parse and toWellFormed do', () => {
    const unit = fc.oneof(
      text.map((part) => JSON.stringify(part).slice(1, -1)),
      fc.nat(0xffff).map((code) => `\\u${code.toString(16).padStart(4, '0')}`),
      fc
        .integer({ min: 0xd800, max: 0xdfff })
        .map((code) => `\\u${code.toString(16).toUpperCase()}`),
      fc.constantFrom('\\/', '\\b', '\\f'),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
        const json = `{"type":"message_delta","turn_id":1,"delta":"${units.join('')}"}`;
        const expected: { delta: string } = JSON.parse(json);
        // What TextEncoder makes of lone surrogates is U+FFFD.
        const wellFormed = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
          new TextEncoder().encode(expected.delta),
        );
        const line = Buffer.from(json);
        expect(deltaOf(line)).toBe(wellFormed);
        expect(decodeLine(line)).toMatchObject({ lossyText: wellFormed !== expected.delta });
      }),
      runs,
    );
  });

  test('replaces ill-formed UTF-8 in strings as TextDecoder does', () => {
    const byte = fc.oneof(
      fc.integer({ min: 0x80, max: 0xff }),
      fc.constantFrom(0x61, 0xf0, 0x9f, 0xe2, 0xed, 0xa0, 0xc3, 0xbf),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), (bytes) => {
        const inside = Buffer.from(bytes);
        const line = Buffer.concat([
          Buffer.from('{"type":"message_delta","turn_id":1,"delta":"'),
          inside,
          Buffer.from('"}'),
        ]);
        const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(inside);
        expect(deltaOf(line)).toBe(expected);
        expect(decodeLine(line)).toMatchObject({
          lossyText: !Buffer.from(expected).equals(inside),
        });
      }),
      runs,
    );
  });

  test('tells the first byte that cannot continue a JSON text', () => {
    // A prefix up to the named byte can be completed, one byte more cannot: so no shorter prefix
    // of the same line names another byte before its own end.
    fc.assert(
      fc.property(anyLine, (line) => {
        const decoded = decodeLine(line);
        if (decoded.kind === 'frame' || decoded.reason === Reason.NOT_A_FRAME) return;
        const offset = Number(/^not JSON at byte (\d+)$/.exec(decoded.detail)?.[1]);
        expect(offset).toBeLessThanOrEqual(line.length);
        for (let length = 0; length <= offset; length++) {
          const prefix = decodeLine(line.subarray(0, length));
          if (prefix.kind === 'malformed' && prefix.detail.startsWith('not JSON')) {
            expect(prefix.detail).toBe(`not JSON at byte ${length}`);
          }
        }
        if (offset < line.length) {
          const detail = `not JSON at byte ${offset}`;
          expect(decodeLine(line.subarray(0, offset + 1))).toMatchObject({ detail });
        }
      }),
      { numRuns: 300 },
    );
  });

  test('is not overflown by nesting and takes linear time for it', () => {
    const depth = 1_000_000;
    const line = Buffer.from(
      `{"type":"cancelled","turn_id":3,"x":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    );
    expect(decodeLine(line)).toMatchObject({ kind: 'frame', turnId: 3n, canonical: false });
    const open = Buffer.from('[{"a":'.repeat(depth / 2));
    expect(decodeLine(open)).toMatchObject({ detail: `not JSON at byte ${open.length}` });
  });

  test('takes linear time for many keys, entries and escapes', () => {
    const keys = `{"type":"cancelled",${'"k":1,'.repeat(200_000)}"turn_id":3}`;
    expect(decodeLine(Buffer.from(keys))).toMatchObject({ turnId: 3n });
    const results = `{"type":"turn_done","turn_id":1,"message":"","tool_results":[${'{},'.repeat(100_000)}{}]}`;
    expect(decodeLine(Buffer.from(results))).toMatchObject({ canonical: false });
    const escapes = `{"type":"message_delta","turn_id":1,"delta":"${'\\ud83d'.repeat(200_000)}"}`;
    expect(decodeLine(Buffer.from(escapes))).toMatchObject({ lossyText: true });
  });

  test('keeps no state between lines', () => {
    const cut = Buffer.concat([
      Buffer.from('{"type":"message_delta","turn_id":1,"delta":"'),
      Buffer.from('f09f98', 'hex'),
      Buffer.from('"}'),
    ]);
    expect(deltaOf(cut)).toBe('\ufffd');
    expect(deltaOf(Buffer.from('{"type":"message_delta","turn_id":1,"delta":"😀"}'))).toBe('😀');
  });

  test('gives turnId 0 if the line says 0, undefined if it says nothing that fits', () => {
    const turnIdOf = (value: string): unknown => {
      const decoded = decodeLine(Buffer.from(`{"type":"cancelled"${value}}`));
      return decoded.kind === 'frame' ? decoded.turnId : 'malformed';
    };
    expect(turnIdOf(',"turn_id":0')).toBe(0n);
    expect(turnIdOf(',"turn_id":-0.0')).toBe(0n);
    expect(turnIdOf('')).toBeUndefined();
    expect(turnIdOf(',"turn_id":"1"')).toBeUndefined();
    expect(turnIdOf(',"turn_id":1.5')).toBeUndefined();
    expect(turnIdOf(',"turn_id":9223372036854775808')).toBeUndefined();
  });

  test('skips a byte order mark only at stream start', () => {
    const line = Buffer.from('\ufeff{"type":"cancelled","turn_id":3}');
    expect(decodeLine(line, true)).toMatchObject({ kind: 'frame', canonical: false });
    expect(decodeLine(line)).toMatchObject({
      reason: Reason.NOT_JSON,
      detail: 'not JSON at byte 0',
    });
  });
});
