import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { v7 as uuidv7 } from 'uuid';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type StartRunRequest,
  type StartRunResponse,
  StartRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { BridgeError, type FieldViolation } from '../errors.js';
import { startChild } from '../ingest/child/child-source.js';
import { spoolDir, spoolFiles } from '../ingest/spool/layout.js';
import { createSpool, removeSpool } from '../ingest/spool/run-spool.js';
import { freeBytes } from '../ingest/spool/space.js';
import type { RunRecord } from '../log/run-record.js';
import type { Caller } from './caller.js';
import { type ChildRun, childRun } from './child-run.js';
import type { ControlContext } from './context.js';
import { armDeadline } from './deadline.js';
import { newRecord } from './new-record.js';
import { startOwned, updateRecord } from './own-run.js';
import { agentArgv, agentEnv, checkParameters, findProfile, type Profile } from './profile.js';
import { findRecord } from './read-runs.js';
import { startRequestHash } from './request-hash.js';
import { type AgentSpawn, encodeSpoolRequest, type SpoolRequest } from './spool-request.js';
import { checkLabels, checkPartitionKey, checkRunId, refuseViolations } from './validate.js';

/** Starts a run from a profile; the same run id and the same request give the same run. */
export async function startRun(
  context: ControlContext,
  request: StartRunRequest,
  caller: Caller,
): Promise<StartRunResponse> {
  const runId = request.runId === '' ? uuidv7() : request.runId;
  const profile = findProfile(context.profiles, request.profile);
  refuseViolations(
    checkRunId(runId),
    checkLabels(request.labels),
    checkPartitionKey(request.partitionKey),
    checkParameters(profile, request.parameters),
    checkPrompt(profile, request.prompt),
    checkDeadline(request),
  );
  const requestHash = startRequestHash(request);
  const known = await findRecord(context, caller, runId);
  if (known !== undefined) return sameRun(known, requestHash);
  await checkRoom(context);
  // Another call with this id may have come while the log was asked.
  const owned = context.owned.get(runId);
  if (owned !== undefined) return sameRun(owned.record, requestHash);

  const { tenant, actor } = caller;
  const { labels, partitionKey, profile: profileName } = request;
  const record = newRecord(context, {
    runId,
    tenant,
    labels,
    partitionKey,
    profile: profileName,
    actor,
    requestHash,
  });
  const spooled = spoolRequest(context, record, profile, request);
  createSpool({
    dataDir: context.dataDir,
    runId,
    request: encodeSpoolRequest(spooled),
    ...(profile.prompt === 'none' ? {} : { prompt: request.prompt }),
  });
  const run = childRun(context, spooled);
  try {
    await startOwned(context, run.owned);
  } catch (thrown) {
    await removeSpool(context.dataDir, runId);
    const raced = await findRecord(context, caller, runId);
    if (raced === undefined) throw thrown;
    return sameRun(raced, requestHash);
  }
  await spawnAgent(context, run, spooled.spawn);
  armDeadline(context, run.owned, spooled.deadlineMs);
  return create(StartRunResponseSchema, { run: record.run, existed: false });
}

/** Spawns the agent of a run that is in the log, or finds the one that was spawned before. */
export async function spawnAgent(
  context: ControlContext,
  { owned, attach }: ChildRun,
  spawn: AgentSpawn,
): Promise<void> {
  const { runId } = owned.record.run;
  const dir = spoolDir(context.dataDir, runId);
  const child = await startChild({ ...spawn, runId, keeper: context.keeper, dir });
  if ('error' in child) {
    const message = `cannot start the agent: ${child.message} (${child.error})`;
    owned.finish({ exit: { kind: 'spawn-failed', message }, cancelSignalled: false });
    return;
  }
  owned.record.run.state = Run_State.RUNNING;
  attach(child);
  await updateRecord(context, owned.record);
}

function sameRun(record: RunRecord, requestHash: string): StartRunResponse {
  if (record.requestHash !== requestHash) {
    throw new BridgeError(
      'RUN_EXISTS',
      `run ${record.run.runId} exists and was started by another request; mint a new run id`,
    );
  }
  return create(StartRunResponseSchema, { run: record.run, existed: true });
}

function spoolRequest(
  context: ControlContext,
  record: RunRecord,
  profile: Profile,
  request: StartRunRequest,
): SpoolRequest {
  const dir = spoolDir(context.dataDir, record.run.runId);
  const promptFile = join(dir, spoolFiles.prompt);
  const { deadline } = request;
  return {
    record,
    strict: profile.strict ?? context.strict,
    graces: {
      interruptGraceMs: profile.interruptGraceMs ?? context.interruptGraceMs,
      terminateGraceMs: profile.terminateGraceMs ?? context.terminateGraceMs,
    },
    deadlineMs:
      deadline === undefined
        ? profile.deadlineMs
        : Number(deadline.seconds) * 1_000 + Math.ceil(deadline.nanos / 1e6),
    spawn: {
      argv: agentArgv(profile, request.parameters, promptFile),
      cwd: profile.cwd ?? context.dataDir,
      env: agentEnv(profile, process.env),
      stdin: profile.prompt === 'stdin' ? { file: promptFile } : 'null',
    },
  };
}

async function checkRoom(context: ControlContext): Promise<void> {
  if (context.owned.size >= context.maxRuns) {
    throw new BridgeError(
      'LIMIT_REACHED',
      `${context.owned.size} runs are live, the limit of this gateway; try again when one has ended`,
    );
  }
  const free = await freeBytes(context.dataDir);
  if (free < context.reserveBytes) {
    throw new BridgeError(
      'LIMIT_REACHED',
      `${free} bytes are free for ${context.dataDir}, the reserve is ${context.reserveBytes}; free space first`,
    );
  }
}

function checkPrompt(profile: Profile, prompt: string): readonly FieldViolation[] {
  if (profile.prompt !== 'none' || prompt === '') return [];
  return [{ field: 'prompt', description: 'this profile takes no prompt' }];
}

function checkDeadline({ deadline }: StartRunRequest): readonly FieldViolation[] {
  if (deadline === undefined || deadline.seconds > 0n || deadline.nanos > 0) return [];
  return [{ field: 'deadline', description: 'a deadline is longer than 0' }];
}
