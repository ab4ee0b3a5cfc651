import { clone, create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Event, EventBatchSchema } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../../src/errors.js';
import { readBatchHead } from '../../src/serve/batch-walk.js';
import { type CutChoices, closedTurnIn, cutBatch } from '../../src/serve/event-batch-cut.js';
import { anyBatch } from './generate-batch.js';

const nothing: CutChoices = { afterSequence: 0, dropDeltas: false, closedTurn: 0 };

const anyChoices = fc.record({
  after: fc.integer({ min: -1, max: 13 }),
  dropDeltas: fc.boolean(),
  closedTurn: fc.integer({ min: 0, max: 12 }),
});

function stays(event: Event, choices: CutChoices): boolean {
  if (Number(event.sequence) <= choices.afterSequence) return false;
  const { payload } = event;
  if (payload.case !== 'messageDelta' && payload.case !== 'toolDelta') return true;
  if (choices.dropDeltas) return false;
  return payload.value.turnId <= 0n || payload.value.turnId > BigInt(choices.closedTurn);
}

test('a cut batch is what decoding, filtering and encoding gives, byte for byte', () => {
  fc.assert(
    fc.property(anyBatch, anyChoices, (batch, { after, ...rest }) => {
      const first = Number(batch.events[0]?.sequence ?? 1n);
      const choices = { ...rest, afterSequence: Math.max(0, first + after) };
      const body = toBinary(EventBatchSchema, batch);
      const wanted = clone(EventBatchSchema, batch);
      wanted.events = batch.events.filter((event) => stays(event, choices));
      const cut = cutBatch(body, choices);
      if (wanted.events.length === batch.events.length) expect(cut).toBe(body);
      else if (wanted.events.length === 0) expect(cut).toBeUndefined();
      else expect(Buffer.from(cut ?? [])).toEqual(Buffer.from(toBinary(EventBatchSchema, wanted)));
    }),
    { numRuns: 500 },
  );
});

test('the head by tags is the head that decoding gives', () => {
  fc.assert(
    fc.property(anyBatch, (batch) => {
      const head = readBatchHead(toBinary(EventBatchSchema, batch));
      expect(head.previousSequence).toBe(Number(batch.previousSequence));
      expect(head.previousStepSequence).toBe(Number(batch.previousStepSequence));
      expect(head.endsRun).toBe(batch.events.at(-1)?.payload.case === 'runFinished');
      expect(head.part).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

test('the highest closed turn is that of the terminals', () => {
  fc.assert(
    fc.property(anyBatch, (batch) => {
      const closed = batch.events.flatMap(({ payload }) =>
        payload.case === 'turnDone' || payload.case === 'turnError' || payload.case === 'cancelled'
          ? [Number(payload.value.turnId)]
          : [],
      );
      const body = toBinary(EventBatchSchema, batch);
      expect(closedTurnIn(body)).toBe(Math.max(0, ...closed));
    }),
    { numRuns: 300 },
  );
});

test('fields that this version does not know stay where they are', () => {
  fc.assert(
    fc.property(anyBatch, fc.uint8Array({ maxLength: 20 }), (batch, data) => {
      batch.$unknown = [{ no: 90, wireType: 2, data: Uint8Array.of(data.length, ...data) }];
      for (const event of batch.events) {
        event.$unknown = [{ no: 9, wireType: 5, data: Uint8Array.of(1, 2, 3, 4) }];
      }
      const body = toBinary(EventBatchSchema, batch);
      const cut = cutBatch(body, { ...nothing, dropDeltas: true });
      if (cut === undefined) return;
      const kept = fromBinary(EventBatchSchema, cut);
      expect(Buffer.from(kept.$unknown?.[0]?.data ?? [])).toEqual(
        Buffer.from(batch.$unknown?.[0]?.data ?? []),
      );
      for (const event of kept.events) expect(event.$unknown).toHaveLength(1);
    }),
    { numRuns: 100 },
  );
});

test('a batch with a part is kept or left out whole, by the sequence of its event', () => {
  const part = { sequence: 9n, index: 2, count: 4, data: Uint8Array.of(1, 2) };
  const body = toBinary(EventBatchSchema, create(EventBatchSchema, { part }));
  expect(readBatchHead(body).part).toEqual({ sequence: 9, index: 2, isLast: false });
  expect(cutBatch(body, { ...nothing, dropDeltas: true, closedTurn: 99 })).toBe(body);
  expect(cutBatch(body, { ...nothing, afterSequence: 8 })).toBe(body);
  expect(cutBatch(body, { ...nothing, afterSequence: 9 })).toBeUndefined();
});

test('altered bytes give INTERNAL or a result, never another error and never a walk out of bounds', () => {
  const changes = fc.array(fc.tuple(fc.nat(4000), fc.nat(255)), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(anyBatch, changes, fc.nat(60), (batch, edits, cutOff) => {
      const body = toBinary(EventBatchSchema, batch).slice(0);
      for (const [at, value] of edits) body[at % body.length] = value;
      const bytes = body.subarray(0, body.length - Math.min(cutOff, body.length));
      for (const run of [
        () => cutBatch(bytes, { afterSequence: 3, dropDeltas: true, closedTurn: 0 }),
        () => readBatchHead(bytes),
        () => closedTurnIn(bytes),
      ]) {
        try {
          run();
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(BridgeError);
          expect(thrown).toHaveProperty('code', 'INTERNAL');
        }
      }
    }),
    { numRuns: 500 },
  );
});
