import { longestSilenceMs } from './absences.js';
import { type AgentJournal, readAgentJournal } from './agent-journal.js';
import { type FeedEntry, longestAwayMs, readFeedJournal } from './feed-journal.js';
import type { LoggedRun } from './read-log.js';
import type { RunFacts } from './run-facts.js';
import type { World } from './world.js';

/** What befell a run, as the test did it and as agent and client have it in their journals. */
export interface Circumstances {
  readonly agent: AgentJournal;
  readonly feed: readonly FeedEntry[];
  /** The longest silence of a bridge that had the run, while it lived. */
  readonly ownerSilentMs: number;
  /** The longest time that its client was with no bridge. */
  readonly clientAwayMs: number;
  /** The client has given up for good. */
  readonly hasClientGivenUp: boolean;
  /** A bridge that had the run was killed or ended while it lived. */
  readonly wasOwnerAway: boolean;
  /** The keeper of the bridge that had the run was killed while it lived. */
  readonly wasKeeperKilled: boolean;
  /** Its end was asked for: by a cancel, or by the end of its bridge. */
  readonly wasEndAskedFor: boolean;
}

/** Events and deeds are not to the millisecond. */
const SLACK_MS = 100;

export function circumstancesOf(
  world: World,
  facts: RunFacts,
  logged: LoggedRun,
  finishedMs: number,
): Circumstances {
  const { plan, startedMs } = facts;
  const agent = readAgentJournal(facts.agentJournal);
  const feed = readFeedJournal(facts.feedJournal);
  // A client's run may be with either, one that has written nothing yet as well.
  const owners = world.bridges.filter(
    ({ ownerId }) => plan.path === 'ingest' || logged.writers[0] === ownerId,
  );
  const isInLife = (ms: number): boolean =>
    ms >= startedMs - SLACK_MS && ms <= finishedMs + SLACK_MS;
  const silences = owners.map(({ absences }) =>
    longestSilenceMs(absences.list, world.nats.absences.list, startedMs, finishedMs),
  );
  return {
    agent,
    feed,
    ownerSilentMs: Math.max(0, ...silences),
    clientAwayMs: longestAwayMs(feed, finishedMs),
    hasClientGivenUp: feed.some(({ kind }) => kind === 'gave-up'),
    wasOwnerAway: owners.some(({ absences }) =>
      absences.list.some(
        ({ fromMs, toMs }) => fromMs <= finishedMs + SLACK_MS && toMs >= startedMs - SLACK_MS,
      ),
    ),
    wasKeeperKilled: owners.some(({ keeperKills }) => keeperKills.some(isInLife)),
    wasEndAskedFor:
      facts.cancels.length > 0 || owners.some(({ gracefulStops }) => gracefulStops.some(isInLife)),
  };
}
