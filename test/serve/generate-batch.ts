import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import {
  type Event,
  type EventBatch,
  EventBatchSchema,
  EventClass,
  EventSchema,
} from '#gen/hep/event/v1/event_pb.js';

const turn = fc.oneof(
  fc.bigInt({ min: 0n, max: 12n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 53n - 1n }),
);
const text = fc.string({ maxLength: 300 });

const payload: fc.Arbitrary<Event['payload']> = fc.oneof(
  fc.record({ turnId: turn, delta: text }).map((value) => payloadOf('messageDelta', value)),
  fc.record({ turnId: turn, update: text }).map((value) => payloadOf('toolDelta', value)),
  fc.record({ turnId: turn, name: text }).map((value) => payloadOf('toolStart', value)),
  fc.record({ turnId: turn, message: text }).map((value) => payloadOf('turnDone', value)),
  fc.record({ turnId: turn, error: text }).map((value) => payloadOf('turnError', value)),
  fc.record({ turnId: turn }).map((value) => payloadOf('cancelled', value)),
  fc.record({ detail: text }).map((value) => payloadOf('runFinished', value)),
  fc.record({ offset: fc.bigInt(0n, 9n) }).map((value) => payloadOf('stderrChunk', value)),
  fc.constant<Event['payload']>({ case: undefined }),
);

const event = fc.record({
  observeOffsetUs: fc.bigInt(0n, 2n ** 40n),
  line: fc.uint8Array({ maxLength: 200 }),
  lossyText: fc.boolean(),
  blankBefore: fc.uint8Array({ maxLength: 5 }),
  payload,
});

/** Batches with events of all kinds that a cut tells apart. */
export const anyBatch: fc.Arbitrary<EventBatch> = fc
  .record({
    first: fc.integer({ min: 1, max: 2 ** 40 }),
    events: fc.array(event, { maxLength: 12 }),
    previous: fc.bigInt(0n, 2n ** 40n),
    previousStep: fc.bigInt(0n, 2n ** 40n),
  })
  .map(({ first, events, previous, previousStep }) =>
    create(EventBatchSchema, {
      runId: '0199c2f0-7a11-7000-8000-000000000001',
      observeTime: { seconds: 1_700_000_000n, nanos: 5 },
      class: EventClass.STEP,
      previousSequence: previous,
      previousStepSequence: previousStep,
      stdoutOffset: 77n,
      canonicalForm: 1,
      events: events.map((fields, index) =>
        create(EventSchema, { ...fields, sequence: BigInt(first + index) }),
      ),
    }),
  );

function payloadOf(kind: string, value: object): Event['payload'] {
  return create(EventSchema, { payload: { case: kind, value } as Event['payload'] }).payload;
}
