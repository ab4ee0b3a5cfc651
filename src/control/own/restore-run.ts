import { fromBinary } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type Event,
  type EventBatch,
  EventBatchSchema,
  EventClass,
  EventSchema,
  type RunFinished,
} from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../../errors.js';
import type { RunResume } from '../../ingest/run.js';
import { createStreamState, restoreEvent } from '../../ingest/stream-state.js';
import type { RunRecord } from '../../log/run-record.js';
import type { CommittedOrder } from '../cancel/cancel-desk.js';
import { decodeOrder } from '../cancel/cancel-order.js';
import type { ControlContext } from '../context.js';
import { eventTime, setFinished, timestampFromUs } from '../record.js';

/** A run as the log holds it. */
export interface RestoredRun {
  readonly resume: RunResume & { readonly lastStreamSequence: number };
  /** RunFinished and its time, if it is over. */
  readonly finished: { readonly value: RunFinished; readonly time: Timestamp } | undefined;
  /** When the newest event was observed. */
  readonly lastEventTime: Timestamp;
  /** The cancels that the log holds, in its order. */
  readonly cancelRequests: readonly CommittedOrder[];
  /** The log says that a signal was sent for a cancel. */
  readonly signalled: boolean;
  /** Names of the signals of which the log says something. */
  readonly signals: ReadonlySet<string>;
}

/** Reads a run back from the log; undefined if the log holds nothing of it. */
export async function restoreRun(
  { reader, stopping }: Pick<ControlContext, 'reader' | 'stopping'>,
  { subjectPrefix, strict }: Pick<RunRecord, 'subjectPrefix' | 'strict'>,
): Promise<RestoredRun | undefined> {
  const first = await reader.firstOfRun(subjectPrefix);
  if (first === undefined) return undefined;
  const state = createStreamState(strict);
  const chain = {
    sequence: 0,
    stepSequence: 0,
    stderrSequence: 0,
    offsets: { stdout: 0, stderr: 0 },
  };
  const cancelRequests: CommittedOrder[] = [];
  let finished: RestoredRun['finished'];
  const signals = new Set<string>();
  let signalled = false;
  let lastSequence = 0;
  let lastStreamSequence = 0;
  let lastEventTime = timestampFromUs(0);
  let parts: Uint8Array[] = [];

  function observe(batch: EventBatch, event: Event): void {
    restoreEvent(state, event);
    const { payload } = event;
    lastSequence = Number(event.sequence);
    lastEventTime = eventTime(batch, event);
    if (payload.case === 'cancelRequested') {
      cancelRequests.push({ order: decodeOrder(payload.value), sequence: lastSequence });
    }
    if (payload.case === 'cancelSignalled') {
      signals.add(payload.value.signal);
      if (payload.value.error === '') signalled = true;
    }
    if (payload.case === 'runFinished') {
      finished = { value: payload.value, time: lastEventTime };
    }
    if (payload.case === 'stderrChunk') {
      chain.stderrSequence = lastSequence;
      return;
    }
    chain.sequence = lastSequence;
    if (payload.case !== 'messageDelta' && payload.case !== 'toolDelta') {
      chain.stepSequence = lastSequence;
    }
  }

  for await (const messages of reader.read(`${subjectPrefix}.*`, first.streamSequence, stopping)) {
    for (const message of messages) {
      const batch = fromBinary(EventBatchSchema, message.body);
      lastStreamSequence = message.streamSequence;
      const whole = wholeEvents(batch, parts);
      if (batch.part === undefined || whole.length > 0) parts = [];
      for (const event of whole) observe(batch, event);
      // A chain of parts that broke off is begun again from its first part.
      if (batch.class !== EventClass.PART) {
        chain.offsets = { stdout: Number(batch.stdoutOffset), stderr: Number(batch.stderrOffset) };
      }
    }
  }
  return {
    resume: { position: chain, lastSequence, state, lastStreamSequence },
    finished,
    lastEventTime,
    cancelRequests,
    signalled,
    signals,
  };
}

/** The batch's events, or the one that its part completes; `parts` takes a part that does not. */
function wholeEvents(batch: EventBatch, parts: Uint8Array[]): readonly Event[] {
  const { part } = batch;
  if (part === undefined) return batch.events;
  if (part.index === 0) parts.length = 0;
  if (part.index !== parts.length) {
    throw new BridgeError(
      'LOG_HOLE',
      `run ${batch.runId}: part ${part.index} of event ${part.sequence} is missing one before it`,
    );
  }
  parts.push(part.data);
  if (part.index < part.count - 1) return [];
  return [fromBinary(EventSchema, Buffer.concat(parts))];
}

/** Brings a record to what the log says, in the hands of `ownerId`. */
export function applyRestored({ run }: RunRecord, restored: RestoredRun, ownerId: string): void {
  run.ownerId = ownerId;
  run.state = Run_State.RUNNING;
  run.lastEventTime = restored.lastEventTime;
  run.lastSequence = BigInt(restored.resume.lastSequence);
  run.session = restored.resume.state.facts.session;
  run.cancelRequested = restored.cancelRequests.length > 0;
  if (restored.finished !== undefined) {
    setFinished(run, restored.finished.value, restored.finished.time);
  }
}
