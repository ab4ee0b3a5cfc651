import type {
  IngestOpen,
  IngestRequest,
  IngestResponse,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { BridgeError } from '../errors.js';
import type { Caller } from './caller.js';
import type { ControlContext } from './context.js';
import { finishedMessage, openedMessage } from './ingest-response.js';
import { ingestRun } from './ingest-run.js';
import type { IngestSource } from './ingest-source.js';
import { newRecord } from './new-record.js';
import { startOwned, updateRecord } from './own-run.js';
import { findRecord, runNow } from './read-runs.js';
import { ingestRequestHash } from './request-hash.js';
import { checkLabels, checkPartitionKey, checkRunId, refuseViolations } from './validate.js';

/** One Ingest call: makes the run or takes it up again, and carries its bytes. */
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
  );
  const known = await findRecord(context, caller, open.runId);
  if (known === undefined) {
    const source = await createIngestRun(context, open, caller);
    yield* source.attach(iterator, signal);
    return;
  }
  if (known.requestHash !== ingestRequestHash()) {
    throw new BridgeError(
      'RUN_EXISTS',
      `run ${open.runId} was started from a profile, not by Ingest; mint a new run id`,
    );
  }
  const live = context.ingestSources.get(open.runId);
  if (live !== undefined) {
    yield* live.attach(iterator, signal);
    return;
  }
  const run = await runNow(context, known);
  if (run.state !== Run_State.FINISHED) {
    throw new BridgeError(
      'OWNER_UNREACHABLE',
      `the gateway that owns run ${open.runId} does not answer; open again`,
      { retryAfterMs: 1_000 },
    );
  }
  // All offsets beyond what was stored: there is nothing to send any more.
  yield openedMessage(context, {
    stdout: Number.MAX_SAFE_INTEGER,
    stderr: Number.MAX_SAFE_INTEGER,
  });
  yield finishedMessage(run);
}

async function createIngestRun(
  context: ControlContext,
  open: IngestOpen,
  caller: Caller,
): Promise<IngestSource> {
  if (context.owned.size >= context.maxRuns) {
    throw new BridgeError(
      'LIMIT_REACHED',
      `${context.owned.size} runs are live, the limit of this gateway; try again when one has ended`,
    );
  }
  const { runId, labels, partitionKey } = open;
  const record = newRecord(context, {
    runId,
    tenant: caller.tenant,
    labels,
    partitionKey,
    profile: '',
    actor: caller.actor,
    requestHash: ingestRequestHash(),
  });
  const entry = { record, strict: open.strict || context.strict };
  context.ingestLedger.enter(entry);
  const { owned, source } = ingestRun(context, entry);
  await startOwned(context, owned);
  record.run.state = Run_State.RUNNING;
  await updateRecord(context, record);
  return source;
}
