import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { toBridgeError } from '../../src/errors.js';
import type { RunPlan } from './plan.js';
import { doRunDeed } from './run-deeds.js';
import type { RunFacts } from './run-facts.js';
import type { Tally } from './tally.js';
import type { World } from './world.js';

const AGENT = fileURLToPath(new URL('agent.mjs', import.meta.url));
const FEED = fileURLToPath(new URL('feed.mjs', import.meta.url));

const START_FOR_MS = 20_000;
/** A run that is not over by then is left to the end of all. */
const END_WITHIN_MS = 20_000;
const POLL_MS = 600;
const CALL_TIMEOUT_MS = 5_000;

export interface Stage {
  readonly world: World;
  /** What was done to whom. */
  readonly deeds: Tally;
  /** How calls failed. */
  readonly refusals: Tally;
}

export function newRun({ world }: Stage, plan: RunPlan): RunFacts {
  const runId = uuidv7();
  return {
    plan,
    runId,
    agentJournal: join(world.journalDir, `${runId}.agent`),
    feedJournal: join(world.journalDir, `${runId}.feed`),
    startedMs: Date.now(),
    isAcknowledged: false,
    client: undefined,
    isClientKilled: false,
    isAgentKilled: false,
    cancels: [],
  };
}

/** Starts a run, does to it what its plan says, and waits for its end, for a while. */
export async function playRun(stage: Stage, facts: RunFacts): Promise<void> {
  const { path, deeds } = facts.plan;
  const done = Promise.all(
    deeds.map(async (deed) => {
      await delay(deed.atMs);
      if (await doRunDeed(stage, facts, deed)) stage.deeds.add(deed.kind);
    }),
  );
  if (path === 'start') await startRun(stage, facts);
  else startFeed(stage, facts);
  await done;
  await awaitEnd(stage, facts);
}

/** The same request with the same id, at either bridge, until one of them answers. */
async function startRun({ world, refusals }: Stage, facts: RunFacts): Promise<void> {
  const { runId, plan } = facts;
  const prompt = `exec '${process.execPath}' '${AGENT}' '${agentPlan(facts)}'`;
  const untilMs = Date.now() + START_FOR_MS;
  for (let attempt = plan.bridge; Date.now() < untilMs; attempt += 1) {
    // Now and then the same one again.
    const bridge = world.bridges[(attempt - (attempt % 3 === 2 ? 1 : 0)) % world.bridges.length];
    try {
      await bridge?.client.startRun(
        { runId, profile: 'sh', prompt },
        { timeoutMs: CALL_TIMEOUT_MS },
      );
      facts.isAcknowledged = true;
      return;
    } catch (thrown) {
      refusals.add(`start ${toBridgeError(thrown).code}`);
    }
    await delay(150);
  }
}

function startFeed({ world }: Stage, facts: RunFacts): void {
  const { runId, plan, feedJournal } = facts;
  const client: ChildProcess = spawn(
    process.execPath,
    [
      FEED,
      JSON.stringify({
        runId,
        journal: feedJournal,
        bridges: world.bridges.map(({ address }) => address),
        first: plan.bridge,
        agent: [process.execPath, AGENT, agentPlan(facts)],
      }),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  facts.client = client;
}

function agentPlan({ plan, runId, agentJournal }: RunFacts): string {
  const { variant, pauses, forkAt, terminal, exitCode, lingerMs } = plan;
  const journal = agentJournal;
  return JSON.stringify({
    runId,
    journal,
    variant,
    pauses,
    forkAt,
    terminal,
    exitCode,
    lingerMs,
  });
}

async function awaitEnd({ world }: Stage, facts: RunFacts): Promise<void> {
  const untilMs = Date.now() + END_WITHIN_MS;
  for (let at = facts.plan.bridge; Date.now() < untilMs; at += 1) {
    await delay(POLL_MS);
    try {
      const bridge = world.bridges[at % world.bridges.length];
      const run = await bridge?.client.getRun(facts.runId, { timeoutMs: 2_000 });
      if (run?.state === Run_State.FINISHED) break;
    } catch (thrown) {
      // Away; or the run is not there yet, and without a client it never will.
      const isUnknown = toBridgeError(thrown).code === 'RUN_NOT_FOUND';
      if (isUnknown && facts.client !== undefined && hasEnded(facts.client)) break;
    }
  }
  const { client } = facts;
  if (client === undefined || hasEnded(client)) return;
  await Promise.race([once(client, 'exit'), delay(Math.max(0, untilMs - Date.now()))]);
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
