import type { RunFinished } from '#gen/hep/event/v1/event_pb.js';
import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import type { Circumstances } from './circumstances.js';
import { expectedOutcome, outcomeText, type SeenExit } from './expected-outcome.js';
import type { LoggedFacts } from './logged-facts.js';
import type { RunFacts } from './run-facts.js';
import { LOST_AFTER_MS, RECONNECT_WINDOW_MS } from './world.js';

/** A heartbeat, or an answer, may be so old when its sender dies. */
const STALE_MS = 500;

/** What is wrong with a run's end, in view of what befell it; empty = nothing. */
export function judgeEnd(
  finished: RunFinished,
  logged: LoggedFacts,
  facts: RunFacts,
  around: Circumstances,
): string[] {
  const isLost = finished.outcome === Outcome.LOST;
  if (isLost !== finished.synthetic) return [`LOST is ${isLost}, synthetic ${finished.synthetic}`];
  if (isLost) return judgeLost(finished, facts, around);
  const exit = seenExit(finished);
  return [...judgeExit(exit, facts, around), ...judgeOutcome(finished, exit, logged, around)];
}

/** Only where the owner or the client was away for long. */
function judgeLost(finished: RunFinished, facts: RunFacts, around: Circumstances): string[] {
  const wrong: string[] = [];
  const text = outcomeText(finished.outcome, finished.reason);
  if (text !== 'LOST / OWNER_GONE') wrong.push(`${text} for a lost run`);
  if (finished.detail === '') wrong.push('LOST without a word why');
  if (finished.exitCode !== undefined || finished.signal !== '')
    wrong.push('LOST, but the exit is known');
  const { ownerSilentMs, clientAwayMs } = around;
  const wasOwnerGone = ownerSilentMs >= LOST_AFTER_MS - STALE_MS;
  const wasClientGone = facts.isClientKilled || clientAwayMs >= RECONNECT_WINDOW_MS - STALE_MS;
  if (!wasOwnerGone && !wasClientGone) {
    wrong.push(
      `LOST, with an owner silent for ${ownerSilentMs} ms, a client away for ${clientAwayMs} ms`,
    );
  }
  return wrong;
}

/** How the agent ended is how it was made to end, or how it says that it meant to. */
function judgeExit(exit: SeenExit, facts: RunFacts, around: Circumstances): string[] {
  const { agent, wasEndAskedFor, hasClientGivenUp } = around;
  const isBorn = agent.births.length > 0;
  const mayBeKilled = facts.isAgentKilled || wasEndAskedFor || hasClientGivenUp;
  switch (exit.kind) {
    case 'unknown':
      return facts.plan.path === 'start' && around.wasKeeperKilled
        ? []
        : ['the exit is unknown, though who should have seen it was there'];
    case 'code':
      if (agent.exitCode === exit.code) return [];
      return [`exit ${exit.code}, but the agent says ${agent.exitCode ?? 'nothing'}`];
    case 'signal': {
      if (exit.signal === 'SIGKILL') return mayBeKilled ? [] : ['SIGKILL, by nobody'];
      const canDieOfIt =
        !isBorn ||
        (facts.plan.variant !== 'stubborn' &&
          (facts.plan.variant !== 'polite' || exit.signal === 'SIGTERM'));
      const isAsked = wasEndAskedFor || hasClientGivenUp;
      if (isAsked && canDieOfIt && /^SIG(INT|TERM)$/.test(exit.signal)) return [];
      return [`ended by ${exit.signal}, asked for ${isAsked}, of which it can die ${canDieOfIt}`];
    }
  }
}

function judgeOutcome(
  finished: RunFinished,
  exit: SeenExit,
  logged: LoggedFacts,
  around: Circumstances,
): string[] {
  const text = outcomeText(finished.outcome, finished.reason);
  const allowed = [expectedOutcome(exit, logged, logged.isSignalled)];
  // An owner that died between signal and event knows by its mark that it sent one.
  if (around.wasOwnerAway && around.wasEndAskedFor)
    allowed.push(expectedOutcome(exit, logged, true));
  return allowed.includes(text) ? [] : [`${text}, not ${allowed.join(' or ')}`];
}

function seenExit({ exitCode, signal }: RunFinished): SeenExit {
  if (exitCode !== undefined) return { kind: 'code', code: exitCode };
  return signal === '' ? { kind: 'unknown' } : { kind: 'signal', signal };
}
