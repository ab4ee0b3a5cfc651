import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { v7 as uuidv7 } from 'uuid';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import {
  type StartRunRequest,
  type StartRunResponse,
  StartRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import { strictestPolicies } from '../../ingest/policies.js';
import { spoolDir, spoolFiles } from '../../ingest/spool/layout.js';
import { createSpool, removeSpool } from '../../ingest/spool/run-spool.js';
import { freeBytes } from '../../ingest/spool/space.js';
import type { RunRecord } from '../../log/run-record.js';
import type { Caller } from '../caller.js';
import { checkIntake } from '../check-intake.js';
import type { ControlContext } from '../context.js';
import { newRecord } from '../new-record.js';
import { type ChildRun, childRun } from '../own/child-run.js';
import { startOwned } from '../own/own-run.js';
import { checkPolicies, policiesOf } from '../own/policy-request.js';
import { findRecord, runNow } from '../read-runs.js';
import { giveUpClaim } from '../record.js';
import { startRequestHash } from '../request-hash.js';
import { checkLabels, checkPartitionKey, checkRunId, refuseViolations } from '../validate.js';
import { agentArgv, agentEnv, checkWishes } from './agent-command.js';
import { readEnvFiles } from './env-files.js';
import { findProfile, type Profile } from './profile.js';
import { spawnAgent } from './spawn-agent.js';
import { encodeSpoolRequest, type SpoolRequest } from './spool-request.js';

/** How long a start that another gateway has claimed is waited for. */
const CLAIM_WAIT_MS = 2_000;
const CLAIM_POLL_MS = 25;

/** Starts a run from a profile; the same run id and the same request give the same run. */
export async function startRun(
  context: ControlContext,
  request: StartRunRequest,
  caller: Caller,
): Promise<StartRunResponse> {
  const runId = request.runId === '' ? uuidv7() : request.runId;
  const requestHash = startRequestHash(request);
  const runIdCheck = checkRunId(runId);
  // A retry gets its run, whatever has become of the profile meanwhile.
  const known = runIdCheck.length > 0 ? undefined : await findRecord(context, caller, runId);
  if (known !== undefined && !(await isBareClaim(context, known))) {
    return await sameRun(context, known, requestHash);
  }
  const profile = findProfile(context.profiles.current, request.profile);
  refuseViolations(
    runIdCheck,
    checkLabels(request.labels),
    checkPartitionKey(request.partitionKey),
    checkWishes(profile, request),
    checkPolicies(request),
  );
  await context.probes.check(request.profile, profile);
  await readEnvFiles(request.profile, profile.envFiles);
  await checkRoom(context);
  takeStart(context);

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
    strict: profile.strict ?? context.strict,
    policies: strictestPolicies(profile.policies, policiesOf(request)),
  });
  const spooled = spoolRequest(context, record, profile, request);
  let run: ChildRun;
  context.claiming.add(runId);
  try {
    if (known === undefined) await context.index.create(record);
    run = await begin(context, spooled, profile.prompt === 'none' ? undefined : request.prompt);
  } catch (thrown) {
    if (toBridgeError(thrown).code !== 'RUN_EXISTS') throw thrown;
    // Another call with this id was faster, here or at another gateway.
    const raced = await findRecord(context, caller, runId);
    if (raced === undefined) throw thrown;
    return await sameRun(context, raced, requestHash);
  } finally {
    context.claiming.delete(runId);
  }
  await spawnAgent(context, run, spooled.spawn);
  return create(StartRunResponseSchema, { run: record.run, existed: false });
}

/** Makes the spool and commits RunStarted. What fails leaves nothing behind. */
async function begin(
  context: ControlContext,
  spooled: SpoolRequest,
  prompt: string | undefined,
): Promise<ChildRun> {
  const { record } = spooled;
  const { runId } = record.run;
  const { dataDir } = context;
  let isSpooled = false;
  try {
    const request = encodeSpoolRequest(spooled);
    createSpool({ dataDir, runId, request, ...(prompt === undefined ? {} : { prompt }) });
    isSpooled = true;
    const run = childRun(context, spooled);
    await startOwned(context, run.owned);
    return run;
  } catch (thrown) {
    // A gateway that stops leaves a start that may be in the log to the next one.
    if (!context.stopping.aborted) {
      if (isSpooled) await removeSpool(dataDir, runId);
      await giveUpClaim(context, record);
    }
    throw thrown;
  }
}

/** A record of ours whose start was given up before anything of the run was in the log. */
async function isBareClaim(
  context: ControlContext,
  { run, ...record }: RunRecord,
): Promise<boolean> {
  if (run.state !== Run_State.STARTING || run.ownerId !== context.ownerId) return false;
  if (context.owned.has(run.runId)) return false;
  return (await context.reader.lastOfRun(record.subjectPrefix)) === undefined;
}

/**
 * The run that is there already. While its owner has only claimed it and begun nothing, the start may still
 * be taken back: then this waits a little, and fails with `OWNER_UNREACHABLE`.
 */
async function sameRun(
  context: ControlContext,
  record: RunRecord,
  requestHash: string,
): Promise<StartRunResponse> {
  const { runId, ownerId } = record.run;
  if (record.requestHash !== requestHash) {
    throw new BridgeError(
      'RUN_EXISTS',
      `run ${runId} exists and was started by another request; mint a new run id`,
    );
  }
  const untilMs = performance.now() + CLAIM_WAIT_MS;
  while (!(await hasBegun(context, record))) {
    if (performance.now() > untilMs) {
      throw new BridgeError(
        'OWNER_UNREACHABLE',
        `run ${runId} is claimed by owner ${ownerId}, which does not begin it; ask again`,
        { retryAfterMs: 1_000 },
      );
    }
    await delay(CLAIM_POLL_MS);
  }
  return create(StartRunResponseSchema, { run: await runNow(context, record), existed: true });
}

async function hasBegun(context: ControlContext, record: RunRecord): Promise<boolean> {
  const { runId, state } = record.run;
  if (state !== Run_State.STARTING) return true;
  const owned = context.owned.get(runId);
  if (owned !== undefined) return owned.run.committed.sequence > 0;
  return (await context.reader.lastOfRun(record.subjectPrefix)) !== undefined;
}

function spoolRequest(
  context: ControlContext,
  record: RunRecord,
  profile: Profile,
  request: StartRunRequest,
): SpoolRequest {
  const dir = spoolDir(context.dataDir, record.run.runId);
  const promptFile = join(dir, spoolFiles.prompt);
  return {
    record,
    graces: {
      interruptGraceMs: profile.interruptGraceMs ?? context.interruptGraceMs,
      terminateGraceMs: profile.terminateGraceMs ?? context.terminateGraceMs,
    },
    spawn: {
      argv: agentArgv(profile, request, promptFile),
      cwd: profile.cwd ?? context.dataDir,
      env: agentEnv(profile, process.env),
      envFiles: profile.envFiles,
      stdin: profile.prompt === 'stdin' ? { file: promptFile } : 'null',
    },
  };
}

function takeStart({ startRate }: ControlContext): void {
  const retryAfterMs = startRate.take();
  if (retryAfterMs === 0) return;
  throw new BridgeError(
    'LIMIT_REACHED',
    `this gateway starts ${startRate.perSecond} runs a second (max_starts_per_second); ` +
      `try again in ${retryAfterMs} ms`,
    { retryAfterMs },
  );
}

async function checkRoom(context: ControlContext): Promise<void> {
  checkIntake(context);
  const free = await freeBytes(context.dataDir);
  if (free < context.reserveBytes) {
    throw new BridgeError(
      'LIMIT_REACHED',
      `${free} bytes are free for ${context.dataDir}, the reserve is ${context.reserveBytes}; free space first`,
    );
  }
}
