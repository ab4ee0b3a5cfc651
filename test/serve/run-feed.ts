import { randomBytes } from 'node:crypto';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { JetStreamClient } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { v7 } from 'uuid';
import { EventBatchSchema, EventClass, EventSchema } from '#gen/hep/event/v1/event_pb.js';
import type { MessageClass } from '../../src/ingest/run-log.js';
import { HEADER } from '../../src/log/names.js';
import { partitionOf, runSubjectPrefix } from '../../src/log/subject.js';
import type { KnownRun } from '../../src/serve/run-lookup.js';

export interface FeedOptions {
  readonly tenant?: string;
  readonly labels?: Record<string, string>;
  readonly partitionKey?: string;
  readonly isUnknown?: boolean;
}

type Payload = NonNullable<MessageInitShape<typeof EventSchema>['payload']>;

/** Writes one run into the log as its owner would. */
export interface RunFeed {
  readonly runId: string;
  /** Makes the run known to the gateway. */
  announce(): void;
  start(): Promise<number>;
  /** One commit; resolves to its stream sequence. */
  commit(payloads: readonly Payload[], messageClass?: MessageClass): Promise<number>;
  /** A big event in `count` parts; resolves to their stream sequences. */
  parts(payload: Payload, count: number): Promise<number[]>;
  /** Gives the payload a sequence without storing it: a hole. */
  withhold(payload: Payload): void;
  finish(): Promise<number>;
  last(): number;
}

export const delta = (text: string, turnId = 1n): Payload => ({
  case: 'messageDelta',
  value: { turnId, delta: text },
});
export const toolStart = (name: string, turnId = 1n): Payload => ({
  case: 'toolStart',
  value: { turnId, name },
});
export const turnDone = (message: string, turnId = 1n): Payload => ({
  case: 'turnDone',
  value: { turnId, message },
});
export const stderr = (text: string): Payload => ({
  case: 'stderrChunk',
  value: { data: Buffer.from(text) },
});

const classNumber: Readonly<Record<MessageClass, EventClass>> = {
  step: EventClass.STEP,
  delta: EventClass.DELTA,
  stderr: EventClass.STDERR,
  part: EventClass.PART,
};

export function createRunFeed(
  client: JetStreamClient,
  known: Map<string, KnownRun>,
  options: FeedOptions = {},
): RunFeed {
  const runId = v7();
  const { tenant = 'default', labels = {}, partitionKey = runId } = options;
  const partition = partitionOf(partitionKey);
  const subjectPrefix = runSubjectPrefix({ tenant, partition, runId });
  const epoch = randomBytes(8).toString('hex');
  let sequence = 0;
  let lastMain = 0;
  let lastStep = 0;
  let lastStderr = 0;
  const announce = (): void => {
    known.set(runId, { subjectPrefix, labels, partitionKey, finished: false });
  };
  if (options.isUnknown !== true) announce();

  const publish = async (
    messageClass: MessageClass,
    first: number,
    last: number,
    fields: MessageInitShape<typeof EventBatchSchema>,
  ): Promise<number> => {
    const body = toBinary(
      EventBatchSchema,
      create(EventBatchSchema, {
        runId,
        observeTime: create(TimestampSchema, { seconds: 1_700_000_000n }),
        class: classNumber[messageClass],
        previousSequence: BigInt(messageClass === 'stderr' ? lastStderr : lastMain),
        previousStepSequence: BigInt(lastStep),
        canonicalForm: 1,
        ...fields,
      }),
    );
    const all = headers();
    all.set(HEADER.commit, `${epoch}:${first}-${last}`);
    const { seq } = await client.publish(`${subjectPrefix}.${messageClass}`, body, {
      headers: all,
    });
    return seq;
  };
  const note = (payloads: readonly Payload[]): void => {
    for (const { case: kind } of payloads) {
      sequence += 1;
      if (kind === 'stderrChunk') lastStderr = sequence;
      else lastMain = sequence;
      if (kind !== 'stderrChunk' && kind !== 'messageDelta' && kind !== 'toolDelta') {
        lastStep = sequence;
      }
    }
  };
  const commit: RunFeed['commit'] = async (payloads, messageClass = classOf(payloads)) => {
    const first = sequence + 1;
    const events = payloads.map((payload, index) => ({ sequence: BigInt(first + index), payload }));
    const stored = publish(messageClass, first, first + payloads.length - 1, { events });
    note(payloads);
    return await stored;
  };
  return {
    runId,
    announce,
    commit,
    start: () => commit([{ case: 'runStarted', value: { labels, partitionKey, partition } }]),
    parts: async (payload, count) => {
      const next = sequence + 1;
      const event = create(EventSchema, { sequence: BigInt(next), payload });
      const bytes = toBinary(EventSchema, event);
      const step = Math.ceil(bytes.length / count);
      const stored: number[] = [];
      for (let index = 0; index < count; index++) {
        const isLast = index === count - 1;
        const data = bytes.subarray(index * step, (index + 1) * step);
        const part = { sequence: BigInt(next), index, count, data };
        stored.push(await publish(isLast ? classOf([payload]) : 'part', next, next, { part }));
      }
      note([payload]);
      return stored;
    },
    withhold: (payload) => note([payload]),
    finish: async () => {
      const stored = await commit([{ case: 'runFinished', value: { detail: 'done' } }]);
      const run = known.get(runId);
      if (run !== undefined) known.set(runId, { ...run, finished: true });
      return stored;
    },
    last: () => sequence,
  };
}

function classOf(payloads: readonly Payload[]): MessageClass {
  const kinds = new Set(payloads.map((payload) => payload.case));
  if (kinds.has('stderrChunk')) return 'stderr';
  for (const kind of kinds) if (kind !== 'messageDelta' && kind !== 'toolDelta') return 'step';
  return 'delta';
}
