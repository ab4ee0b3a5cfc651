import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { SubscribeRequestSchema } from '#gen/hep/bridge/v1/event_service_pb.js';
import {
  type EventBatch,
  EventBatchSchema,
  EventClass,
  EventSchema,
} from '#gen/hep/event/v1/event_pb.js';
import { createEventReader } from '../../src/client/event-reader.js';

const runId = '0199c2f0-7a11-7000-8000-000000000001';

function readerOf(rest: MessageInitShape<typeof SubscribeRequestSchema> = {}) {
  return createEventReader(
    create(SubscribeRequestSchema, { target: { case: 'runId', value: runId }, ...rest }),
  );
}

function batch(
  sequences: readonly number[],
  fields: MessageInitShape<typeof EventBatchSchema> = {},
) {
  const events = sequences.map((sequence) => ({ sequence: BigInt(sequence) }));
  return create(EventBatchSchema, { runId, class: EventClass.STEP, events, ...fields });
}

function sequences(reader: ReturnType<typeof readerOf>, next: EventBatch): number[] {
  return reader.read(next).map(({ sequence }) => sequence);
}

test('events come once, with run id and time', () => {
  const reader = readerOf();
  const observeTime = create(TimestampSchema, { seconds: 3n, nanos: 4000 });
  const first = batch([1, 2], { observeTime });
  if (first.events[1] !== undefined) first.events[1].observeOffsetUs = 5n;
  expect(reader.read(first)).toMatchObject([
    { runId, sequence: 1, timeUs: 3_000_004 },
    { runId, sequence: 2, timeUs: 3_000_009 },
  ]);
  expect(sequences(reader, batch([2, 3], { previousSequence: 1n }))).toEqual([3]);
});

test('a batch that does not follow what was read is LOG_HOLE', () => {
  const hole = expect.objectContaining({ code: 'LOG_HOLE' });
  expect(() => readerOf().read(batch([3], { previousSequence: 2n }))).toThrow(hole);
  const reader = readerOf();
  reader.read(batch([1]));
  expect(() => reader.read(batch([4], { previousSequence: 3n }))).toThrow(hole);
});

test('deltas left out on request are no hole, and a step left out is', () => {
  const reader = readerOf({ skipDeltas: true });
  reader.read(batch([1]));
  expect(sequences(reader, batch([9], { previousSequence: 8n, previousStepSequence: 1n }))).toEqual(
    [9],
  );
  const missing = batch([12], { previousSequence: 11n, previousStepSequence: 10n });
  expect(() => reader.read(missing)).toThrow(expect.objectContaining({ code: 'LOG_HOLE' }));
});

test('stderr has a chain of its own', () => {
  const reader = readerOf();
  reader.read(batch([1]));
  const stderr = { class: EventClass.STDERR } as const;
  expect(sequences(reader, batch([2], stderr))).toEqual([2]);
  expect(sequences(reader, batch([3], { previousSequence: 1n }))).toEqual([3]);
  expect(() => reader.read(batch([5], { ...stderr, previousSequence: 4n }))).toThrow(
    expect.objectContaining({ code: 'LOG_HOLE' }),
  );
});

test('parts become one event; part 0 and a new call start anew', () => {
  const bytes = toBinary(EventSchema, create(EventSchema, { sequence: 1n, lossyText: true }));
  const part = (index: number) =>
    batch([], {
      part: { sequence: 1n, index, count: bytes.length, data: bytes.subarray(index, index + 1) },
    });
  const reader = readerOf();
  const all = Array.from(bytes.keys());
  expect(sequences(reader, part(0))).toEqual([]);
  reader.reconnected();
  expect(all.flatMap((index) => sequences(reader, part(index)))).toEqual([1]);
  expect(() => reader.read(part(1))).toThrow(expect.objectContaining({ code: 'LOG_HOLE' }));
});
