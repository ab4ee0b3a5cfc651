import { readFileSync } from 'node:fs';

/** The fields of `/proc/<pid>/stat` that tell processes, groups and lives apart. */
export interface ProcStat {
  /** One letter; `Z` and `X` are dead and only not yet reaped. */
  readonly state: string;
  readonly processGroup: number;
  readonly session: number;
  /** Clock ticks from boot to start (field 22), as text. */
  readonly startTime: string;
}

/** The stat of one process, or undefined if there is none or no `/proc`. */
export function readProcStat(pid: number): ProcStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  return parseProcStat(text);
}

/** Parses the text of a stat file; undefined if it has not the expected shape. */
export function parseProcStat(text: string): ProcStat | undefined {
  // The name in field 2 may hold blanks and parentheses: fields are counted from its last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , processGroup, session] = fields;
  const startTime = fields[19];
  if (state === undefined || session === undefined || startTime === undefined) return undefined;
  return { state, processGroup: Number(processGroup), session: Number(session), startTime };
}

/** Whether the process has ended and only waits for its parent to take note. */
export function isDead(stat: ProcStat): boolean {
  return stat.state === 'Z' || stat.state === 'X' || stat.state === 'x';
}
