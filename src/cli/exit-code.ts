import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import type { Code } from '../errors.js';

/** Exit code of each error. Those from 64 on mean what sysexits.h says. */
const exitCodeOfCode: Readonly<Record<Code, number>> = {
  USAGE: 64,
  INVALID_REQUEST: 64,
  CURSOR_INVALID: 64,
  CURSOR_AHEAD: 64,
  HISTORY_GONE: 65,
  STREAM_RECREATED: 65,
  LOG_HOLE: 65,
  EXPORT_INCOMPLETE: 65,
  RUN_NOT_FOUND: 66,
  PROFILE_NOT_FOUND: 66,
  BRIDGE_UNREACHABLE: 69,
  NATS_UNREACHABLE: 69,
  LOG_UNAVAILABLE: 69,
  OWNER_UNREACHABLE: 69,
  KEEPER_UNREACHABLE: 69,
  DRAINING: 69,
  INTERNAL: 70,
  NATS_SERVER_MISSING: 72,
  DATA_DIR_IN_USE: 73,
  DATA_DIR_INVALID: 73,
  ADDRESS_IN_USE: 73,
  LIMIT_REACHED: 75,
  RUN_EXISTS: 76,
  RUN_FINISHED: 76,
  INGEST_GAP: 76,
  INGEST_TAKEN_OVER: 76,
  FENCED: 76,
  PROFILE_UNUSABLE: 78,
  AGENT_UNSUPPORTED: 78,
  CONFIG_INVALID: 78,
  CANCELLED: 130,
};

/** Exit code of `run` for the outcome of its run. */
const exitCodeOfOutcome: Readonly<Record<Outcome, number>> = {
  [Outcome.UNSPECIFIED]: 70,
  [Outcome.COMPLETED]: 0,
  [Outcome.FAILED]: 1,
  [Outcome.REFUSED]: 2,
  [Outcome.INCOMPLETE]: 3,
  [Outcome.LOST]: 4,
  [Outcome.CANCELLED]: 130,
};

export function exitCodeOf(code: Code): number {
  return exitCodeOfCode[code];
}

/** For an outcome that this version does not know: as if there were none. */
export function exitCodeOfRun(outcome: Outcome): number {
  return exitCodeOfOutcome[outcome] ?? 70;
}

/** The tables for the help of every command. */
export function exitCodeHelp(): string {
  const byExit = new Map<number, string[]>();
  for (const [code, exit] of Object.entries(exitCodeOfCode)) {
    byExit.set(exit, [...(byExit.get(exit) ?? []), code]);
  }
  const rows = [...byExit].sort(([a], [b]) => a - b);
  return [
    'Exit codes:',
    '   0  done (run: the outcome is COMPLETED)',
    '      run:   1 FAILED, 2 REFUSED, 3 INCOMPLETE, 4 LOST, 130 CANCELLED',
    '      check: 1 findings, 2 refused',
    ...rows.map(([exit, codes]) => `${String(exit).padStart(4)}  ${codes.join(', ')}`),
  ].join('\n');
}
