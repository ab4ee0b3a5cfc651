import { setTimeout as delay } from 'node:timers/promises';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import type { BridgeClient } from '../../src/client/bridge-client.js';
import { toBridgeError } from '../../src/errors.js';
import type { Answer, SeenRun } from './check-run.js';
import { hasEnded } from './play-run.js';
import { livingRunProcesses } from './processes.js';
import { type LoggedRun, readLog } from './read-log.js';
import type { RunFacts } from './run-facts.js';
import type { World } from './world.js';

const POLL_MS = 500;
const CALL_TIMEOUT_MS = 10_000;
const READ_AT_ONCE = 8;

/** Waits, everybody being up, until both bridges call all runs finished and the clients are gone. */
export async function settle(
  { bridges }: World,
  runs: readonly RunFacts[],
  limitMs: number,
): Promise<void> {
  const untilMs = Date.now() + limitMs;
  while (Date.now() < untilMs) {
    const live = await Promise.all(bridges.map(({ client }) => countLive(client)));
    const clients = runs.filter(({ client }) => client !== undefined && !hasEnded(client));
    if (live.every((count) => count === 0) && clients.length === 0) break;
    await delay(POLL_MS);
  }
  // What was killed with the last end may not be gone yet.
  await delay(1_000);
}

/** Reads the log once, and asks both bridges about each run. */
export async function seeRuns(
  world: World,
  runs: readonly RunFacts[],
): Promise<Map<string, SeenRun>> {
  const log = await readLog(world.nats.url);
  const processes = livingRunProcesses();
  const seen = new Map<string, SeenRun>();
  const waiting = [...runs];
  async function seeNext(): Promise<void> {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      const { runId, plan } = run;
      const logged: LoggedRun = log.get(runId) ?? { runId, events: [], writers: [] };
      const reader = world.bridges[plan.index % world.bridges.length];
      const subscribed =
        reader === undefined || logged.events.length === 0
          ? []
          : await eventsOf(reader.client, runId);
      const answers = await Promise.all(world.bridges.map(({ client }) => ask(client, runId)));
      seen.set(runId, { logged, subscribed, answers, processes: processes.get(runId) ?? [] });
    }
  }
  await Promise.all(Array.from({ length: READ_AT_ONCE }, seeNext));
  return seen;
}

async function countLive(client: BridgeClient): Promise<number> {
  try {
    const states = [Run_State.STARTING, Run_State.RUNNING];
    const { runs } = await client.listRuns(
      { states, pageSize: 1_000 },
      { timeoutMs: CALL_TIMEOUT_MS },
    );
    return runs.length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

async function eventsOf(client: BridgeClient, runId: string): Promise<SeenRun['subscribed']> {
  const target = { case: 'runId' as const, value: runId };
  const events: Exclude<SeenRun['subscribed'], string>[number][] = [];
  try {
    const signal = AbortSignal.timeout(CALL_TIMEOUT_MS);
    for await (const event of client.subscribe({ target, includeStderr: true }, { signal })) {
      events.push(event);
    }
    return events;
  } catch (thrown) {
    return `${toBridgeError(thrown).message}, after ${events.length} events`;
  }
}

async function ask(client: BridgeClient, runId: string): Promise<Answer> {
  try {
    return await client.getRun(runId, { timeoutMs: CALL_TIMEOUT_MS });
  } catch (thrown) {
    return toBridgeError(thrown).code;
  }
}
