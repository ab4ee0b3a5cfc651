import { clone, create } from '@bufbuild/protobuf';
import { Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type CancelRunRequest,
  type CancelRunResponse,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError, toBridgeError } from '../errors.js';
import type { RunRecord } from '../log/run-record.js';
import type { Caller } from './caller.js';
import type { CancelOrder } from './cancel-desk.js';
import type { ControlContext } from './context.js';
import type { OwnedRun } from './owned-run.js';
import { getRecord, runNow } from './read-runs.js';
import { checkReason, checkRequestId, checkRunId, refuseViolations } from './validate.js';

/**
 * Asks for the end of a run. Answers when CancelRequested is committed, or the run is over; the
 * signal does not wait for either.
 */
export async function cancelRun(
  context: ControlContext,
  request: CancelRunRequest,
  caller: Caller,
): Promise<CancelRunResponse> {
  const { runId, reason } = request;
  refuseViolations(checkRunId(runId), checkRequestId(request.requestId), checkReason(reason));
  const record = await getRecord(context, caller, runId);
  const order: CancelOrder = {
    requestId: request.requestId.toLowerCase(),
    cause: CancelCause.CALLER,
    actor: caller.actor,
    reason,
  };
  const owned = context.owned.get(runId);
  if (owned !== undefined) return await cancelOwned(context, owned, order);
  const run = await runNow(context, record);
  if (run.state === Run_State.FINISHED) return create(CancelRunResponseSchema, { run });
  await store(context, record, order);
  throw new BridgeError(
    'OWNER_UNREACHABLE',
    `the gateway that owns run ${runId} does not answer; the request is stored, ask again`,
    { retryAfterMs: 1_000 },
  );
}

async function cancelOwned(
  context: ControlContext,
  owned: OwnedRun,
  order: CancelOrder,
): Promise<CancelRunResponse> {
  const committed = owned.desk.request(order);
  // In the store for an owner that adopts the run; the live one does not wait for it.
  store(context, owned.record, order).catch((thrown: unknown) => {
    const { code, message } = toBridgeError(thrown);
    const facts = { run_id: owned.record.run.runId, code };
    context.logger.warn(facts, `cancel request not stored: ${message}`);
  });
  const requestedSequence = await Promise.race([
    committed.then(BigInt, (thrown: unknown) => afterEnd(owned, thrown)),
    owned.finished.then(() => 0n),
  ]);
  const run = clone(RunSchema, owned.record.run);
  return create(CancelRunResponseSchema, { run, requestedSequence });
}

/** A request that came while RunFinished was on its way finds the run over. */
async function afterEnd(owned: OwnedRun, thrown: unknown): Promise<bigint> {
  if (owned.failure !== undefined) throw owned.failure;
  if (toBridgeError(thrown).code !== 'RUN_FINISHED') throw thrown;
  await owned.finished;
  return 0n;
}

async function store(
  context: ControlContext,
  record: RunRecord,
  order: CancelOrder,
): Promise<void> {
  await context.cancels.create({ ...order, runId: record.run.runId, timeMs: Date.now() });
}
