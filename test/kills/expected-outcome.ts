import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';
import type { LoggedFacts } from './logged-facts.js';

/** How a process ended, as RunFinished has it. */
export type SeenExit =
  | { readonly kind: 'code'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'unknown' };

/**
 * The rows 5 to 9 of the outcome table in docs/protocol.md, written anew: what the exit, the last
 * terminal frame and the signals make of a run, as `OUTCOME / REASON`.
 */
export function expectedOutcome(
  exit: SeenExit,
  { lastTerminal, isCut }: Pick<LoggedFacts, 'lastTerminal' | 'isCut'>,
  isSignalled: boolean,
): string {
  const code = exit.kind === 'code' ? exit.code : undefined;
  const isTerminated = exit.kind === 'signal' || code === 143;
  if (isSignalled && (isTerminated || code === 130)) return 'CANCELLED / CANCEL_SIGNALLED';
  if (isTerminated) return 'INCOMPLETE / CRASHED';
  if (isCut) return 'INCOMPLETE / TRUNCATED';
  if (code === 130) return 'CANCELLED / INTERRUPTED';
  if (code === 3) return 'FAILED / SESSION_BUSY';
  if (code === 64) return 'FAILED / USAGE';
  if (code === 1 && lastTerminal === 'turnError') return 'FAILED / TURN_ERROR';
  if (code !== undefined && code !== 0) return 'FAILED / EXIT_CODE';
  if (lastTerminal === 'turnDone') return 'COMPLETED / TURN_DONE';
  if (lastTerminal === 'turnError') return 'FAILED / TURN_ERROR';
  if (lastTerminal === 'cancelled') return 'CANCELLED / TURN_CANCELLED';
  return 'INCOMPLETE / NO_TERMINAL';
}

/** `OUTCOME / REASON`. */
export function outcomeText(outcome: Outcome, reason: OutcomeReason): string {
  return `${Outcome[outcome]} / ${OutcomeReason[reason]}`;
}
