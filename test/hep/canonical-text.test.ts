import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { MessageDeltaSchema, TurnDoneSchema, UsageSchema } from '#gen/hep/frame/v1/frame_pb.js';
import { canonicalText } from '../../src/hep/canonical-text.js';
import { dartDouble } from '../../src/hep/dart-double.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import type { FramePayload } from '../../src/hep/frame-kind.js';
import { frame } from './frame-arbitrary.js';

function textOf(payload: FramePayload): string {
  return Buffer.from(canonicalText(payload) ?? new Uint8Array()).toString();
}

describe('canonical text', () => {
  test('decodes to the frame that it was made of, as canonical and without a finding', () => {
    fc.assert(
      fc.property(frame, (payload) => {
        const decoded = decodeLine(canonicalText(payload) ?? new Uint8Array());
        if (decoded.kind !== 'frame') throw new Error(decoded.detail);
        const made = create(EventSchema, { payload });
        expect(equals(EventSchema, create(EventSchema, { payload: decoded.payload }), made)).toBe(
          true,
        );
        expect(decoded).toMatchObject({ canonical: true, lossyText: false, violations: [] });
        const { turnId } = { turnId: undefined, ...payload.value };
        expect(decoded.turnId).toBe(turnId);
      }),
    );
  });

  test('is the same after the frame went through Protobuf', () => {
    fc.assert(
      fc.property(frame, (payload) => {
        const bytes = toBinary(EventSchema, create(EventSchema, { payload }));
        const read = fromBinary(EventSchema, bytes).payload;
        expect(canonicalText(read)).toEqual(canonicalText(payload));
      }),
    );
  });

  test('is JSON that says what the frame says', () => {
    fc.assert(
      fc.property(frame, (payload) => {
        const text = textOf(payload);
        // Rewritten by JavaScript it differs in nothing but numbers.
        const withoutNumbers = (json: string): string =>
          json.replaceAll(
            /(?<="(?:turn_id|cost|input|output|elapsed_ms|output_bytes|tokens_freed)":)[-+.0-9e]+/g,
            '0',
          );
        expect(withoutNumbers(JSON.stringify(JSON.parse(text)))).toBe(withoutNumbers(text));
      }),
    );
  });

  test('prints a price as Dart prints a double', () => {
    const printed = [
      0,
      -0,
      1,
      0.3,
      0.1 + 0.2,
      1e-6,
      1e-7,
      1.5e-9,
      1e20,
      1e21,
      5e-324,
      -2.5,
      123456789,
    ].map(dartDouble);
    expect(printed).toEqual([
      '0.0',
      '-0.0',
      '1.0',
      '0.3',
      '0.30000000000000004',
      '0.000001',
      '1e-7',
      '1.5e-9',
      '100000000000000000000.0',
      '1e+21',
      '5e-324',
      '-2.5',
      '123456789.0',
    ]);
  });

  test('prints plain fields also if they are empty, optional ones only if they are set', () => {
    const empty = create(TurnDoneSchema);
    expect(textOf({ case: 'turnDone', value: empty })).toBe(
      '{"type":"turn_done","turn_id":0,"message":"","tool_results":[],"stop_reason":""}',
    );
    const value = create(TurnDoneSchema, { usage: create(UsageSchema) });
    expect(textOf({ case: 'turnDone', value })).toContain('"usage":{}');
    value.usage = create(UsageSchema, { cost: 0 });
    expect(textOf({ case: 'turnDone', value })).toContain('"usage":{"cost":0.0}');
  });

  test('takes lone surrogates for the U+FFFD that they become in Protobuf', () => {
    const value = create(MessageDeltaSchema, { delta: 'a\ud83d😀' });
    expect(textOf({ case: 'messageDelta', value })).toContain('"a\ufffd😀"');
  });

  test('does not exist for a price that JSON cannot write', () => {
    for (const cost of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const value = create(TurnDoneSchema, { usage: create(UsageSchema, { cost }) });
      expect(canonicalText({ case: 'turnDone', value })).toBeUndefined();
    }
  });
});
