import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Run_State, type Run as RunMessage } from '#gen/hep/bridge/v1/run_pb.js';
import { type RunFinished, RunStartedSchema } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError, toBridgeError } from '../errors.js';
import { createRun, type RunResume } from '../ingest/run.js';
import type { RunEnd } from '../ingest/run-finished.js';
import type { RunRecord } from '../log/run-record.js';
import { createCancelDesk } from './cancel-desk.js';
import type { ControlContext } from './context.js';
import { deferred } from './deferred.js';
import type { OwnedRun } from './owned-run.js';

export interface OwnRunOptions {
  readonly record: RunRecord;
  readonly kind: OwnedRun['kind'];
  readonly strict: boolean;
  /** For a run that is in the log already. */
  readonly resume?: RunResume & { readonly lastStreamSequence: number };
  /** The first cancel: bring it to the agent, at once. */
  readonly deliver: (requestId: string) => void;
  /** The stream is refused or a strict run broken: stop the agent. */
  readonly onMustStop: (why: string) => void;
  /** The log took the run away: stop the agent, write nothing more. */
  readonly onFailure: (error: BridgeError) => void;
  readonly onCommitted?: () => void;
}

/** Takes a run as this gateway's own. It stands in `context.owned` until it is over or lost. */
export function ownRun(context: ControlContext, options: OwnRunOptions): OwnedRun {
  const { record, resume } = options;
  const { runId } = record.run;
  const finished = deferred<RunFinished>();
  const closed = deferred<void>();
  // Whoever asks is told; nobody has to ask.
  finished.promise.catch(() => undefined);
  let failure: BridgeError | undefined;
  let isFinishing = false;

  function fail(error: BridgeError): void {
    if (failure !== undefined) return;
    failure = error;
    context.owned.delete(runId);
    finished.reject(error);
    closed.resolve();
    // A gateway that stops leaves the run, and its agent, to the next one.
    if (context.stopping.aborted) return;
    context.logger.error({ run_id: runId, code: error.code }, `run lost: ${error.message}`);
    options.onFailure(error);
    options.onCommitted?.();
  }

  const run = createRun({
    runId,
    log: context.openLog({
      subjectPrefix: record.subjectPrefix,
      lastStreamSequence: resume?.lastStreamSequence ?? 0,
      requestHash: record.requestHash,
    }),
    clock: context.clock,
    limits: context.limits,
    strict: options.strict,
    onMustStop: options.onMustStop,
    onFailure: fail,
    onCommitted: () => {
      record.run.lastSequence = BigInt(run.committed.sequence);
      if (record.run.session === '') record.run.session = run.facts.session;
      options.onCommitted?.();
    },
    ...(resume === undefined ? {} : { resume }),
  });
  const desk = createCancelDesk(run, (requestId) => {
    record.run.cancelRequested = true;
    options.deliver(requestId);
  });

  async function finish(end: RunEnd): Promise<void> {
    const message = await run.finish(end);
    setFinished(record.run, message);
    context.owned.delete(runId);
    finished.resolve(message);
    options.onCommitted?.();
    await updateRecord(context, record);
    closed.resolve();
  }

  const owned: OwnedRun = {
    run,
    desk,
    kind: options.kind,
    record,
    finished: finished.promise,
    closed: closed.promise,
    get failure() {
      return failure;
    },
    finish(end) {
      if (isFinishing) return;
      isFinishing = true;
      finish(end).catch((thrown: unknown) => fail(toBridgeError(thrown)));
    },
  };
  context.owned.set(runId, owned);
  return owned;
}

/**
 * Commits RunStarted and writes the record. Throws `RUN_EXISTS` if the log knows the run already;
 * then this gateway does not own it.
 */
export async function startOwned(context: ControlContext, owned: OwnedRun): Promise<void> {
  const { record, run } = owned;
  const { runId, labels, partitionKey, partition } = record.run;
  try {
    await run.append({
      case: 'runStarted',
      value: create(RunStartedSchema, {
        labels,
        partitionKey,
        partition,
        bridgeVersion: context.bridgeVersion,
        profile: record.profile,
        actor: record.actor,
      }),
    });
  } catch (thrown) {
    context.owned.delete(runId);
    const error = toBridgeError(thrown);
    if (error.code !== 'FENCED') throw error;
    throw new BridgeError('RUN_EXISTS', `run ${runId} is in the log already`, { cause: error });
  }
  await context.index.create(record);
}

/** Writes the record now; if the log does not answer, the end of the run or a restart writes it. */
export async function updateRecord(context: ControlContext, record: RunRecord): Promise<void> {
  try {
    await context.index.update(record);
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    context.logger.warn({ run_id: record.run.runId, code }, `record not written: ${message}`);
  }
}

export function setFinished(run: RunMessage, finished: RunFinished): void {
  run.state = Run_State.FINISHED;
  run.outcome = finished.outcome;
  run.outcomeReason = finished.reason;
  run.finishTime = timestampFromMs(Date.now());
}
