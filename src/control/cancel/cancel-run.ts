import { setTimeout as delay } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { Run_State, type Run as RunMessage } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type CancelRunRequest,
  type CancelRunResponse,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import type { RunRecord } from '../../log/run-record.js';
import type { Caller } from '../caller.js';
import type { ControlContext } from '../context.js';
import type { OwnedRun } from '../own/owned-run.js';
import { getRecord, runNow } from '../read-runs.js';
import { runOf } from '../record.js';
import {
  checkDuration,
  checkReason,
  checkRequestId,
  checkRunId,
  refuseViolations,
} from '../validate.js';
import type { CancelOrder } from './cancel-order.js';

/** Longest grace, and longest wait for the end, that a call may ask for. */
const MAX_WAIT_MS = 3_600_000;
/** Between two looks at a run of another gateway whose end is waited for. */
const POLL_MS = 250;

/**
 * Asks for the end of a run, whoever owns it. Answers when CancelRequested is committed, or the run is
 * over, or what the call waits for has come; the signal does not wait for any of it.
 */
export async function cancelRun(
  context: ControlContext,
  request: CancelRunRequest,
  caller: Caller,
): Promise<CancelRunResponse> {
  refuseViolations(
    checkRunId(request.runId),
    checkRequestId(request.requestId),
    checkReason(request.reason),
    checkDuration('interrupt_grace', request.interruptGrace, MAX_WAIT_MS),
    checkDuration('terminate_grace', request.terminateGrace, MAX_WAIT_MS),
    checkDuration('wait', request.wait, MAX_WAIT_MS),
  );
  const record = await getRecord(context, caller, request.runId);
  const response = await askForEnd(context, record, orderOf(request, caller));
  if (request.wait === undefined) return response;
  const run = await waitForEnd(context, record, durationMs(request.wait));
  return create(CancelRunResponseSchema, { ...response, run });
}

/** Of a run that this gateway owns. */
export async function cancelOwned(
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
  return create(CancelRunResponseSchema, { run: runOf(owned), requestedSequence });
}

function orderOf(request: CancelRunRequest, { actor }: Caller): CancelOrder {
  const { force, reason, interruptGrace, terminateGrace } = request;
  return {
    requestId: request.requestId.toLowerCase(),
    cause: CancelCause.CALLER,
    actor,
    reason,
    ...(force ? { force } : {}),
    ...(interruptGrace === undefined ? {} : { interruptGraceMs: durationMs(interruptGrace) }),
    ...(terminateGrace === undefined ? {} : { terminateGraceMs: durationMs(terminateGrace) }),
  };
}

async function askForEnd(
  context: ControlContext,
  record: RunRecord,
  order: CancelOrder,
): Promise<CancelRunResponse> {
  const { runId, ownerId } = record.run;
  const owned = context.owned.get(runId);
  if (owned !== undefined) return await cancelOwned(context, owned, order);
  const run = await runNow(context, record);
  if (run.state === Run_State.FINISHED) return create(CancelRunResponseSchema, { run });
  await store(context, record, order);
  const answer = await context.ownerLink.cancel(record, order);
  if (answer !== undefined) return answer;
  // It may have ended, or gone to another owner, while it was asked.
  const after = await runNow(context, record);
  if (after.state === Run_State.FINISHED) return create(CancelRunResponseSchema, { run: after });
  const text = await unreachableText(context, runId, ownerId);
  throw new BridgeError('OWNER_UNREACHABLE', text, {
    retryAfterMs: 1_000,
  });
}

async function unreachableText(
  context: ControlContext,
  runId: string,
  ownerId: string,
): Promise<string> {
  const text = `owner ${ownerId} of run ${runId} does not answer; the request is kept for it, ask again`;
  if (ownerId === context.ownerId) return text;
  const entry = await context.owners.get(ownerId).catch(() => undefined);
  if (entry === undefined) return `${text}; it has no heartbeat`;
  const silentMs = context.ownerWatch.silentMs(ownerId) ?? 0;
  const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
  return `${text}; silent for ${seconds(silentMs)}, after ${seconds(context.lostAfterMs)} its runs end as LOST`;
}

/** The run when it is over, or as it is when the time is over. */
async function waitForEnd(
  context: ControlContext,
  record: RunRecord,
  waitMs: number,
): Promise<RunMessage> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const run = await runNow(context, record);
    const leftMs = untilMs - performance.now();
    if (run.state === Run_State.FINISHED || leftMs <= 0) return run;
    context.stopping.throwIfAborted();
    const owned = context.owned.get(run.runId);
    const over = new AbortController();
    const pauseMs = owned === undefined ? Math.min(POLL_MS, leftMs) : leftMs;
    const pause = delay(pauseMs, undefined, { signal: over.signal }).catch(() => undefined);
    await (owned === undefined ? pause : Promise.race([owned.closed, pause]));
    over.abort();
  }
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
