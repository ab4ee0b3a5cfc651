import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Run as RunMessage } from '#gen/hep/bridge/v1/run_pb.js';
import { type RunFinished, RunStartedSchema } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import { createRun, type RunResume } from '../../ingest/run.js';
import type { RunRecord } from '../../log/run-record.js';
import { createCancelDesk, type DeliverCancel } from '../cancel/cancel-desk.js';
import type { Graces } from '../cancel/graces.js';
import type { ControlContext } from '../context.js';
import { deferred } from '../deferred.js';
import { setFinished, updateRecord } from '../record.js';
import type { OwnedRun, SourceEnd } from './owned-run.js';
import { createPolicyWatch } from './policy-watch.js';

export interface OwnRunOptions {
  readonly record: RunRecord;
  readonly kind: OwnedRun['kind'];
  readonly graces: Graces;
  /** Whether bytes of the source could come now. */
  readonly isListening: () => boolean;
  /** For a run that is in the log already. */
  readonly resume?: RunResume & { readonly lastStreamSequence: number };
  /** A cancel, or one that shortens the graces. */
  readonly deliver: DeliverCancel;
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
    if (context.owned.get(runId) === owned) context.owned.delete(runId);
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
    strict: record.strict,
    onMustStop: options.onMustStop,
    onFailure: fail,
    onCommitted: () => {
      record.run.lastSequence = BigInt(run.committed.sequence);
      if (record.run.session !== run.facts.session) {
        record.run.session = run.facts.session;
        // For the other gateways; once a run.
        void updateRecord(context, record);
      }
      options.onCommitted?.();
    },
    onRead: () => watch.read(),
    ...(resume === undefined ? {} : { resume }),
  });
  const desk = createCancelDesk(run, options.graces, (requestId, graces) => {
    if (!record.run.cancelRequested) {
      record.run.cancelRequested = true;
      void updateRecord(context, record);
    }
    options.deliver(requestId, graces);
  });

  const watch = createPolicyWatch({
    run,
    policies: record.policies,
    createdMs: performance.now() - ageMs(record.run),
    isListening: options.isListening,
    onReached: (order) => {
      context.logger.warn({ run_id: runId, actor: order.actor }, `cancelling: ${order.reason}`);
      // A failure of the log reaches the run's owner through `onFailure`.
      desk.request(order).catch(() => undefined);
    },
  });

  async function finish(end: SourceEnd): Promise<void> {
    const { first: cancel, signalled: cancelSignalled } = desk;
    const message = await run.finish({ ...end, cancel, cancelSignalled });
    setFinished(record.run, message, timestampFromMs(Date.now()));
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
    get isEnding() {
      return isFinishing;
    },
    tick: (nowMs) => watch.tick(nowMs),
    lose: fail,
    finish(end) {
      if (isFinishing) return;
      isFinishing = true;
      finish(end).catch((thrown: unknown) => fail(toBridgeError(thrown)));
    },
  };
  context.owned.set(runId, owned);
  return owned;
}

/** Commits RunStarted. Throws `RUN_EXISTS` if the log knows the run already: then it is not owned. */
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
        profile: record.run.profile,
        actor: record.actor,
      }),
    });
  } catch (thrown) {
    context.owned.delete(runId);
    const error = toBridgeError(thrown);
    if (error.code !== 'FENCED') throw error;
    throw new BridgeError('RUN_EXISTS', `run ${runId} is in the log already`, { cause: error });
  }
}

function ageMs({ createTime }: RunMessage): number {
  return createTime === undefined ? 0 : Math.max(0, Date.now() - timestampMs(createTime));
}
