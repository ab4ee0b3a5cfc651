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
import { setFinished } from './own-run.js';
import { checkLabels, checkRunId, refuseViolations } from './validate.js';

const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;

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
  if (run.state === Run_State.FINISHED || context.owned.has(run.runId)) return run;
  const last = await context.reader.lastOfRun(record.subjectPrefix);
  if (last === undefined) return run;
  const truth = clone(RunSchema, run);
  truth.lastSequence = BigInt(last.lastSequence);
  const event = fromBinary(EventBatchSchema, last.body).events.at(-1);
  if (event?.payload.case === 'runFinished') setFinished(truth, event.payload.value);
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
    match: (record) => isAskedFor(liveRun(context, record), request),
  });
  return create(ListRunsResponseSchema, {
    runs: page.records.map((record) => liveRun(context, record)),
    nextPageToken: page.nextToken ?? '',
  });
}

/** Of a run that this gateway owns it knows more than the projection says. */
function liveRun(context: ControlContext, { run }: RunRecord): RunMessage {
  return context.owned.get(run.runId)?.record.run ?? run;
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
