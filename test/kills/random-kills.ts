import { setTimeout as delay } from 'node:timers/promises';
import { clearRemains } from './clear-remains.js';
import { beginPartyDeed, DECK_SIZE, shuffledDeck } from './party-deeds.js';
import { planRun } from './plan.js';
import { newRun, playRun, type Stage } from './play-run.js';
import type { Random } from './random.js';
import { createRandom } from './random.js';
import { judgeRuns, type Report } from './report.js';
import type { RunFacts } from './run-facts.js';
import { seeRuns, settle } from './settle.js';
import { createTally } from './tally.js';
import { createWorld } from './world.js';

export interface RandomKillsOptions {
  readonly seed: number;
  readonly runs: number;
  /** Leave logs and journals of a run with violations. */
  readonly keep?: boolean;
}

const LIVE_AT_MOST = 16;
/** Runs for which one deck of deeds is played. */
const RUNS_A_DECK = 200;
/** Mean time between two starts. */
const START_EVERY_MS = 320;
/** A run takes about so long. */
const RUN_MS = 2_500;
const SETTLE_WITHIN_MS = 60_000;

/** Starts runs, kills and stops whatever there is, and holds all of it against what was promised. */
export async function randomKills({
  seed,
  runs: count,
  keep = false,
}: RandomKillsOptions): Promise<Report> {
  const random = createRandom(seed);
  const startedMs = Date.now();
  await using world = await createWorld();
  const stage: Stage = { world, deeds: createTally(), refusals: createTally() };
  const all: RunFacts[] = [];
  try {
    const over = new AbortController();
    const deeds = playDeeds(stage, random.fork(), over.signal);
    const live = await startRuns(stage, random.fork(), count, all).finally(() => over.abort());
    await Promise.all([deeds, ...live]);
    await settle(world, all, SETTLE_WITHIN_MS);
    const seen = await seeRuns(world, all);
    const report = judgeRuns(stage, all, seen, { seed, startedMs });
    if (keep && report.violations.length > 0) world.keep();
    return report;
  } finally {
    clearRemains(all);
  }
}

/** Resolves, when all have begun, with those that go on. */
async function startRuns(
  stage: Stage,
  random: Random,
  count: number,
  all: RunFacts[],
): Promise<ReadonlySet<Promise<void>>> {
  const live = new Set<Promise<void>>();
  for (let index = 0; index < count; index += 1) {
    const plan = planRun(random.fork(), index, stage.world.bridges.length);
    await delay(random.between(START_EVERY_MS / 4, (START_EVERY_MS * 7) / 4));
    while (live.size >= LIVE_AT_MOST) await Promise.race(live);
    const facts = newRun(stage, plan);
    all.push(facts);
    const playing: Promise<void> = playRun(stage, facts).finally(() => live.delete(playing));
    live.add(playing);
  }
  // Time for the last ones to be hit as well.
  await delay(RUN_MS);
  return live;
}

/** One deck after the other until all runs have had their time, spread over the time that its runs take. */
async function playDeeds(
  { world, deeds }: Stage,
  random: Random,
  over: AbortSignal,
): Promise<void> {
  const pending = new Set<Promise<void>>();
  const everyMs = (RUNS_A_DECK * START_EVERY_MS) / DECK_SIZE;
  while (!over.aborted) {
    for (const kind of shuffledDeck(random)) {
      await delay(random.between(everyMs / 4, (everyMs * 7) / 4), undefined, {
        signal: over,
      }).catch(() => undefined);
      if (over.aborted) break;
      const deed = beginPartyDeed(world, kind, random, deeds);
      if (deed === undefined) continue;
      const playing: Promise<void> = deed.finally(() => pending.delete(playing));
      pending.add(playing);
    }
  }
  await Promise.all(pending);
}
