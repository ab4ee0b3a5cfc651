import type {
  IngestOpen,
  IngestRequest,
  IngestResponse,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import type { RunRecord } from '../../log/run-record.js';
import type { Caller } from '../caller.js';
import { checkIntake } from '../check-intake.js';
import type { ControlContext } from '../context.js';
import { newRecord } from '../new-record.js';
import { startOwned } from '../own/own-run.js';
import { checkPolicies, policiesOf } from '../own/policy-request.js';
import { findRecord } from '../read-runs.js';
import { giveUpClaim, updateRecord } from '../record.js';
import { ingestRequestHash } from '../request-hash.js';
import { leaveStray } from '../strays.js';
import { checkLabels, checkPartitionKey, checkRunId, refuseViolations } from '../validate.js';
import { finishedMessage, openedMessage } from './ingest-response.js';
import { ingestRun } from './ingest-run.js';
import type { IngestSource } from './ingest-source.js';
import { type TakenUp, takeUpIngestRun } from './take-up-ingest-run.js';

/**
 * One Ingest call: makes the run or takes it up again, also from another gateway, and carries its
 * bytes.
 */
export async function* ingestCall(
  context: ControlContext,
  requests: AsyncIterable<IngestRequest>,
  caller: Caller,
  signal: AbortSignal,
): AsyncIterable<IngestResponse> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  const message = first.done === true ? undefined : first.value.message;
  if (message?.case !== 'open') {
    throw new BridgeError('INVALID_REQUEST', 'the first message of an Ingest call is open');
  }
  const open = message.value;
  refuseViolations(
    checkRunId(open.runId),
    checkLabels(open.labels),
    checkPartitionKey(open.partitionKey),
    checkPolicies(open),
  );
  const { record, source } = await openRun(context, open, caller);
  if (source !== undefined) {
    yield* source.attach(iterator, signal);
    return;
  }
  // All offsets beyond what was stored: there is nothing to send any more.
  yield openedMessage(context, {
    stdout: Number.MAX_SAFE_INTEGER,
    stderr: Number.MAX_SAFE_INTEGER,
  });
  yield finishedMessage(record.run);
}

async function openRun(
  context: ControlContext,
  open: IngestOpen,
  caller: Caller,
): Promise<TakenUp> {
  const known = await findRecord(context, caller, open.runId);
  if (known !== undefined) return await openKnown(context, known, open, caller);
  try {
    return await createIngestRun(context, open, caller);
  } catch (thrown) {
    if (toBridgeError(thrown).code !== 'RUN_EXISTS') throw thrown;
    // Another call with this id was faster.
    const raced = await findRecord(context, caller, open.runId);
    if (raced === undefined) throw thrown;
    return await openKnown(context, raced, open, caller);
  }
}

async function openKnown(
  context: ControlContext,
  known: RunRecord,
  open: IngestOpen,
  caller: Caller,
): Promise<TakenUp> {
  const { runId } = open;
  if (known.requestHash !== ingestRequestHash()) {
    throw new BridgeError(
      'RUN_EXISTS',
      `run ${runId} was started from a profile, not by Ingest; mint a new run id`,
    );
  }
  if (known.run.state === Run_State.FINISHED) return { record: known, source: undefined };
  const live = await liveSource(context, runId);
  if (live !== undefined) return { record: known, source: live };
  const taking = context.ingestTakeUps.get(runId) ?? takeOver(context, known);
  context.ingestTakeUps.set(runId, taking);
  try {
    return (await taking) ?? (await createIngestRun(context, open, caller));
  } finally {
    context.ingestTakeUps.delete(runId);
  }
}

/** This gateway's own source of the run, if no other gateway has gone on with it meanwhile. */
async function liveSource(
  context: ControlContext,
  runId: string,
): Promise<IngestSource | undefined> {
  await context.owned.get(runId)?.run.verify();
  return context.owned.has(runId) ? context.ingestSources.get(runId) : undefined;
}

/** The client came here, so its run does; its gateway of before notices by the chain. */
async function takeOver(context: ControlContext, record: RunRecord): Promise<TakenUp | undefined> {
  checkIntake(context);
  const { run } = record;
  const ownerBefore = run.ownerId;
  const facts = { run_id: run.runId, owner: ownerBefore };
  context.logger.info(facts, 'taking over a run: its client came here');
  run.ownerId = context.ownerId;
  try {
    // The record first: its owner of before looks there before it calls the run lost.
    await context.index.update(record);
    if (ownerBefore !== context.ownerId) await context.ownerLink.release(ownerBefore, record);
    return await takeUpIngestRun(context, record);
  } catch (thrown) {
    // It stands in this gateway's name, and its client may never come again.
    leaveStray(context);
    throw thrown;
  }
}

async function createIngestRun(
  context: ControlContext,
  open: IngestOpen,
  caller: Caller,
): Promise<TakenUp> {
  checkIntake(context);
  const { runId, labels, partitionKey } = open;
  const record = newRecord(context, {
    runId,
    tenant: caller.tenant,
    labels,
    partitionKey,
    profile: '',
    actor: caller.actor,
    requestHash: ingestRequestHash(),
    strict: open.strict || context.strict,
    policies: policiesOf(open),
  });
  context.claiming.add(runId);
  try {
    await context.index.create(record);
    context.ingestLedger.enter(record);
    const { owned, source } = ingestRun(context, { record });
    try {
      await startOwned(context, owned);
    } catch (thrown) {
      if (!context.stopping.aborted) await giveUpClaim(context, record);
      throw thrown;
    }
    record.run.state = Run_State.RUNNING;
    await updateRecord(context, record);
    return { record, source };
  } finally {
    context.claiming.delete(runId);
  }
}
