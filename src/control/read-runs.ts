import { clone, create, fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Run_State, type Run as RunMessage, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type GetRunRequest,
  type GetRunResponse,
  GetRunResponseSchema,
  type ListRunsRequest,
  type ListRunsResponse,
  ListRunsResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { EventBatchSchema } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../errors.js';
import type { RunRecord } from '../log/run-record.js';
import { escapeToken } from '../log/subject.js';
import type { Caller } from './caller.js';
import type { ControlContext } from './context.js';
import { eventTime, runOf, setFinished } from './record.js';
import { checkLabels, checkRunId, refuseViolations } from './validate.js';

const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
/** Runs of other gateways whose last message is read at the same time. */
const READ_AT_ONCE = 64;

/** A run's record: this gateway's own state of it, or else the projection. */
export async function findRecord(
  context: ControlContext,
  caller: Caller,
  runId: string,
): Promise<RunRecord | undefined> {
  const tenantToken = escapeToken(caller.tenant);
  const owned = context.owned.get(runId);
  if (owned !== undefined && owned.record.tenantToken === tenantToken) return owned.record;
  return await context.index.get(tenantToken, runId);
}

/** Throws `RUN_NOT_FOUND`. */
export async function getRecord(
  context: ControlContext,
  caller: Caller,
  runId: string,
): Promise<RunRecord> {
  refuseViolations(checkRunId(runId));
  const record = await findRecord(context, caller, runId);
  if (record !== undefined) return record;
  throw new BridgeError(
    'RUN_NOT_FOUND',
    `no run ${runId}; it was never started here, or its record has expired`,
  );
}

export async function getRun(
  context: ControlContext,
  request: GetRunRequest,
  caller: Caller,
): Promise<GetRunResponse> {
  const record = await getRecord(context, caller, request.runId);
  return create(GetRunResponseSchema, { run: await runNow(context, record) });
}

/**
 * The record corrected by the log: another gateway's last sequence, and an end that was committed
 * but whose record was not written before a crash.
 */
export async function runNow(context: ControlContext, record: RunRecord): Promise<RunMessage> {
  const { run } = record;
  const owned = context.owned.get(run.runId);
  // A reader may have seen RunFinished before its acknowledgement came here.
  if (owned !== undefined && !owned.isEnding) return runOf(owned);
  if (run.state === Run_State.FINISHED) return run;
  const last = await context.reader.lastOfRun(record.subjectPrefix);
  if (last === undefined) return run;
  const truth = clone(RunSchema, run);
  truth.lastSequence = BigInt(last.lastSequence);
  const batch = fromBinary(EventBatchSchema, last.body);
  const event = batch.events.at(-1);
  truth.lastEventTime = eventTime(batch, event);
  if (event?.payload.case === 'runFinished') {
    setFinished(truth, event.payload.value, truth.lastEventTime);
  }
  return truth;
}

export async function listRuns(
  context: ControlContext,
  request: ListRunsRequest,
  caller: Caller,
): Promise<ListRunsResponse> {
  refuseViolations(
    checkLabels(request.labels),
    request.pageSize < 0 || request.pageSize > MAX_PAGE_SIZE
      ? [{ field: 'page_size', description: `0 to ${MAX_PAGE_SIZE}` }]
      : [],
  );
  const page = await context.index.listNewestFirst(escapeToken(caller.tenant), {
    ...(request.pageToken === '' ? {} : { before: request.pageToken }),
    limit: request.pageSize === 0 ? DEFAULT_PAGE_SIZE : request.pageSize,
    match: (record) =>
      isAskedFor(context.owned.get(record.run.runId)?.record.run ?? record.run, request),
  });
  const runs: RunMessage[] = [];
  for (let from = 0; from < page.records.length; from += READ_AT_ONCE) {
    const some = page.records.slice(from, from + READ_AT_ONCE);
    runs.push(...(await Promise.all(some.map((record) => runNow(context, record)))));
  }
  return create(ListRunsResponseSchema, {
    // One that the projection took for live may have ended.
    runs: runs.filter((run) => isAskedFor(run, request)),
    nextPageToken: page.nextToken ?? '',
  });
}

function isAskedFor(run: RunMessage, request: ListRunsRequest): boolean {
  const { states, labels, createdFrom, createdUntil } = request;
  if (states.length > 0 && !states.includes(run.state)) return false;
  for (const [key, value] of Object.entries(labels)) {
    if (run.labels[key] !== value) return false;
  }
  const createdMs = run.createTime === undefined ? 0 : timestampMs(run.createTime);
  if (createdFrom !== undefined && createdMs < timestampMs(createdFrom)) return false;
  return createdUntil === undefined || createdMs < timestampMs(createdUntil);
}
