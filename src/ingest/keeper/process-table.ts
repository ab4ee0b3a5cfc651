import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isDead, readProcStat } from '../child/proc-stat.js';

/** One living process, as far as an end of a run needs it. */
export interface TableEntry {
  readonly pid: number;
  readonly processGroup: number;
  /** Clock ticks since boot; NaN where there is no `/proc`. */
  readonly startTicks: number;
}

const hasProc = existsSync('/proc/self/stat');

/** All processes that are alive now; those that ended and were not reaped are left out. */
export function livingProcesses(): TableEntry[] {
  return hasProc ? fromProc() : fromPs();
}

/** The `HEP_RUN_ID` that a process was started with; undefined if none, or not ours to see. */
export function runIdOf(pid: number): string | undefined {
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return undefined;
  }
  const entry = environment.split('\0').find((text) => text.startsWith('HEP_RUN_ID='));
  return entry?.slice('HEP_RUN_ID='.length);
}

function fromProc(): TableEntry[] {
  const entries: TableEntry[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readProcStat(pid);
    if (stat === undefined || isDead(stat)) continue;
    entries.push({ pid, processGroup: stat.processGroup, startTicks: Number(stat.startTime) });
  }
  return entries;
}

function fromPs(): TableEntry[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,pgid=,stat='], { encoding: 'latin1' });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, processGroup, state] = line.trim().split(/\s+/);
    if (state === undefined || state.startsWith('Z')) return [];
    return [{ pid: Number(pid), processGroup: Number(processGroup), startTicks: Number.NaN }];
  });
}
