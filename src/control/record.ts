import { clone } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Run_State, type Run as RunMessage, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import type { Event, EventBatch, RunFinished } from '#gen/hep/event/v1/event_pb.js';
import { toBridgeError } from '../errors.js';
import type { RunRecord } from '../log/run-record.js';
import type { ControlContext } from './context.js';
import type { OwnedRun } from './own/owned-run.js';
import { leaveStray } from './strays.js';

/** Writes the record now; if the log does not answer, the end of the run or a restart writes it. */
export async function updateRecord(context: ControlContext, record: RunRecord): Promise<void> {
  try {
    await context.index.update(record);
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    context.logger.warn({ run_id: record.run.runId, code }, `record not written: ${message}`);
  }
}

/** Removes the record of a run that never came to be. */
export async function giveUpClaim(context: ControlContext, record: RunRecord): Promise<void> {
  try {
    await context.index.remove(record);
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    leaveStray(context);
    context.logger.warn({ run_id: record.run.runId, code }, `record not removed: ${message}`);
  }
}

export function setFinished(run: RunMessage, finished: RunFinished, finishTime: Timestamp): void {
  run.state = Run_State.FINISHED;
  run.outcome = finished.outcome;
  run.outcomeReason = finished.reason;
  run.detail = finished.detail;
  run.cancelCause = finished.cancelCause;
  run.synthetic = finished.synthetic;
  run.finishTime = finishTime;
  run.lastEventTime = finishTime;
}

/** A picture of an owned run, as it is now. */
export function runOf({ record, run: { committed } }: OwnedRun): RunMessage {
  const run = clone(RunSchema, record.run);
  if (committed.lastTimeUs > 0 && run.state !== Run_State.FINISHED) {
    run.lastEventTime = timestampFromUs(committed.lastTimeUs);
  }
  return run;
}

/** When an event of a batch was observed. */
export function eventTime(batch: EventBatch, event: Event | undefined): Timestamp {
  const { seconds = 0n, nanos = 0 } = batch.observeTime ?? {};
  return timestampFromUs(
    Number(seconds) * 1e6 + Math.floor(nanos / 1_000) + Number(event?.observeOffsetUs ?? 0n),
  );
}

export function timestampFromUs(us: number): Timestamp {
  const timestamp = timestampFromMs(Math.floor(us / 1_000));
  timestamp.nanos += (us % 1_000) * 1_000;
  return timestamp;
}
