import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';

/** How a process ended, as far as its owner knows. */
export type Exit =
  | { readonly kind: 'code'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  /** The process is gone and nobody saw how. */
  | { readonly kind: 'unknown' }
  /** The process never came to be; `message` names why. */
  | { readonly kind: 'spawn-failed'; readonly message: string }
  /** The owner of the source is gone; whether the process lives is not known. */
  | { readonly kind: 'owner-gone'; readonly message: string };

export type TerminalKind = 'turnDone' | 'turnError' | 'cancelled';

/** What is known at the end of a run. */
export interface EndFacts {
  readonly exit: Exit;
  readonly refusal: Refusal | undefined;
  /** What broke a strict run; empty if nothing did or the run is not strict. */
  readonly strictBreach: string;
  /** The owner sent a signal for a cancel. */
  readonly cancelSignalled: boolean;
  /** The last line had no 0x0A and is no frame. */
  readonly truncated: boolean;
  readonly lastTerminal: TerminalKind | undefined;
}

/** Why a stream is not read. */
export interface Refusal {
  readonly reason: OutcomeReason.HEADER_MISSING | OutcomeReason.HEADER_UNSUPPORTED;
  readonly detail: string;
  /** First bytes of the refused line, at most `REFUSED_LINE_BYTES`. */
  readonly line: Uint8Array;
}

export interface Verdict {
  readonly outcome: Outcome;
  readonly reason: OutcomeReason;
  /** For people. */
  readonly detail: string;
}

const EXIT_INTERRUPTED = 130;
const EXIT_TERMINATED = 143;
const EXIT_SESSION_BUSY = 3;
const EXIT_USAGE = 64;

/**
 * The verdict on a run: the rows of the table in docs/protocol.md, first match wins. The numbers in
 * the comments are the table's rows.
 */
export function decideOutcome(facts: EndFacts): Verdict {
  const { exit } = facts;
  // 1, 2
  if (exit.kind === 'spawn-failed') {
    return verdict(Outcome.FAILED, OutcomeReason.SPAWN, exit.message);
  }
  if (exit.kind === 'owner-gone') {
    return verdict(Outcome.LOST, OutcomeReason.OWNER_GONE, exit.message);
  }
  // 3, 4
  if (facts.refusal !== undefined) {
    return verdict(Outcome.REFUSED, facts.refusal.reason, facts.refusal.detail);
  }
  if (facts.strictBreach !== '') {
    return verdict(Outcome.FAILED, OutcomeReason.STRICT, `strict: ${facts.strictBreach}`);
  }
  const how = describeExit(exit);
  const code = exit.kind === 'code' ? exit.code : undefined;
  const endedBySignal = exit.kind === 'signal';
  // 5
  if (
    facts.cancelSignalled &&
    (endedBySignal || code === EXIT_INTERRUPTED || code === EXIT_TERMINATED)
  ) {
    return verdict(Outcome.CANCELLED, OutcomeReason.CANCEL_SIGNALLED, `cancelled: ${how}`);
  }
  // 6
  if (endedBySignal || code === EXIT_TERMINATED) {
    const cut = facts.truncated ? '; the last line is cut' : '';
    return verdict(Outcome.INCOMPLETE, OutcomeReason.CRASHED, `${how}${cut}`);
  }
  if (facts.truncated) {
    return verdict(Outcome.INCOMPLETE, OutcomeReason.TRUNCATED, `the last line is cut; ${how}`);
  }
  // 7
  if (code === EXIT_INTERRUPTED) {
    return verdict(Outcome.CANCELLED, OutcomeReason.INTERRUPTED, `${how} without a cancel request`);
  }
  // 8, 9
  if (code !== undefined && code !== 0) {
    return verdict(Outcome.FAILED, reasonOfExitCode(code, facts.lastTerminal), how);
  }
  return verdictOfTerminal(facts.lastTerminal, how);
}

function reasonOfExitCode(code: number, lastTerminal: TerminalKind | undefined): OutcomeReason {
  if (code === EXIT_SESSION_BUSY) return OutcomeReason.SESSION_BUSY;
  if (code === EXIT_USAGE) return OutcomeReason.USAGE;
  if (code === 1 && lastTerminal === 'turnError') return OutcomeReason.TURN_ERROR;
  return OutcomeReason.EXIT_CODE;
}

function verdictOfTerminal(lastTerminal: TerminalKind | undefined, how: string): Verdict {
  switch (lastTerminal) {
    case 'turnDone':
      return verdict(Outcome.COMPLETED, OutcomeReason.TURN_DONE, how);
    case 'turnError':
      return verdict(Outcome.FAILED, OutcomeReason.TURN_ERROR, `${how}; last round: turn_error`);
    case 'cancelled':
      return verdict(
        Outcome.CANCELLED,
        OutcomeReason.TURN_CANCELLED,
        `${how}; last round: cancelled`,
      );
    case undefined:
      return verdict(Outcome.INCOMPLETE, OutcomeReason.NO_TERMINAL, `${how}; no terminal frame`);
  }
}

function describeExit(exit: Exit): string {
  switch (exit.kind) {
    case 'code':
      return `exit ${exit.code}`;
    case 'signal':
      return `ended by ${exit.signal}`;
    case 'unknown':
      return 'exit not observed';
    case 'spawn-failed':
    case 'owner-gone':
      return exit.message;
  }
}

function verdict(outcome: Outcome, reason: OutcomeReason, detail: string): Verdict {
  return { outcome, reason, detail };
}
