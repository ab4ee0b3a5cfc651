import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { type Event, EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { CancelledSchema, UnknownFrameSchema } from '#gen/hep/frame/v1/frame_pb.js';
import { originalLine } from '../../src/hep/original-line.js';
import { decodedEvent } from './decoded-event.js';

const usageLine = Buffer.from(
  '{"type":"turn_done","turn_id":1,"message":"","tool_results":[{"id":"a","name":"b","ok":true,"text":""}],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}',
);
/** Field 100, varint 1: nothing that this version knows. */
const unknownField = [{ no: 100, wireType: 0, data: Uint8Array.of(1) }];

function turnDone(change: (event: Event) => void): Event {
  const event = decodedEvent(usageLine);
  change(event);
  return fromBinary(EventSchema, toBinary(EventSchema, event));
}

describe('originalLine', () => {
  test('is the canonical text where line is empty and the form is 1', () => {
    expect(
      originalLine(
        turnDone(() => undefined),
        1,
      ),
    ).toEqual(new Uint8Array(usageLine));
  });

  test('is line where it is set, in whatever form, also of an unknown payload', () => {
    const line = Buffer.from(' {"type":"cancelled","turn_id":3}');
    expect(originalLine(decodedEvent(line), 99)).toBe(line);
    expect(originalLine(create(EventSchema, { line }), 99)).toBe(line);
  });

  test.each([
    'runStarted',
    'runFinished',
    'oversizeLine',
    'cancelRequested',
    'cancelSignalled',
    'stderrChunk',
    'historyExpired',
  ] as const)('does not exist for %s', (name) => {
    const field = EventSchema.field[name];
    if (field.fieldKind !== 'message') throw new Error('a payload is a message');
    const empty = Uint8Array.of(...varint((field.number << 3) | 2), 0);
    expect(originalLine(fromBinary(EventSchema, empty), 1)).toBeUndefined();
  });

  test.each([0, 2, -1])('is never guessed in canonical form %i', (form) => {
    expect(() =>
      originalLine(
        turnDone(() => undefined),
        form,
      ),
    ).toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: expect.stringContaining(`canonical form ${form}`),
      }),
    );
  });

  test('is never guessed where the frame, its usage or a tool result has unknown fields', () => {
    const events = [
      turnDone(({ payload }) => {
        if (payload.case === 'turnDone') payload.value.$unknown = unknownField;
      }),
      turnDone(({ payload }) => {
        if (payload.case === 'turnDone' && payload.value.usage)
          payload.value.usage.$unknown = unknownField;
      }),
      turnDone(({ payload }) => {
        if (payload.case !== 'turnDone') return;
        for (const result of payload.value.toolResults) result.$unknown = unknownField;
      }),
    ];
    for (const event of events) {
      expect(() => originalLine(event, 1)).toThrow(/event 7 has no exact line: .*fields unknown/);
    }
  });

  test('is never guessed for an unknown payload or an unknown type', () => {
    const unknownPayload = fromBinary(EventSchema, Uint8Array.of(...varint((60 << 3) | 2), 0));
    const value = create(UnknownFrameSchema, { type: 'x' });
    const unknownFrame = create(EventSchema, { payload: { case: 'unknownFrame', value } });
    for (const event of [unknownPayload, unknownFrame]) {
      expect(() => originalLine(event, 1)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    }
  });

  test('is empty for an empty line, which is an event only beyond the blanks that may wait', () => {
    const malformed = decodedEvent(Buffer.from('noise'));
    malformed.line = new Uint8Array();
    expect(originalLine(malformed, 1)).toHaveLength(0);
  });

  test('does not mind unknown fields of the event itself', () => {
    const value = create(CancelledSchema, { turnId: 3n });
    const event = create(EventSchema, { payload: { case: 'cancelled', value } });
    event.$unknown = unknownField;
    expect(Buffer.from(originalLine(event, 1) ?? []).toString()).toBe(
      '{"type":"cancelled","turn_id":3}',
    );
  });
});

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)];
}
