import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isDead, readProcStat } from './proc-stat.js';

/** One life of one process: a pid alone is used again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: ticks since boot from `/proc`, or what `ps -o lstart` prints where there is no `/proc`. */
  readonly startTime: string;
  /** Opaque id of the boot; start times of different boots do not compare. */
  readonly bootId: string;
}

const hasProc = existsSync('/proc/self/stat');
let knownBootId: string | undefined;

/** The id of this boot; an empty string where the system has none. */
export function currentBootId(): string {
  knownBootId ??= readBootId();
  return knownBootId;
}

/** Who `pid` is now, dead and not yet reaped included; undefined if there is no such process. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = hasProc ? readProcStat(pid)?.startTime : psField(pid, 'lstart=');
  return startTime === undefined ? undefined : { pid, startTime, bootId: currentBootId() };
}

/** Whether exactly this process still runs; one that ended and was not yet reaped does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.bootId !== currentBootId()) return false;
  if (!hasProc) {
    const state = psField(identity.pid, 'stat=');
    return (
      state !== undefined &&
      !state.startsWith('Z') &&
      psField(identity.pid, 'lstart=') === identity.startTime
    );
  }
  const stat = readProcStat(identity.pid);
  return stat !== undefined && !isDead(stat) && stat.startTime === identity.startTime;
}

/** The identity in a parsed JSON value, or undefined if it holds none. */
export function decodeIdentity(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { pid, startTime, bootId } = value as Partial<Record<keyof ProcessIdentity, unknown>>;
  // Pid 0, 1 and below would mean groups or everything to kill(2).
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 1) return undefined;
  if (typeof startTime !== 'string' || typeof bootId !== 'string') return undefined;
  return { pid, startTime, bootId };
}

function readBootId(): string {
  if (hasProc) return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return spawnSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'latin1' }).stdout.trim();
}

function psField(pid: number, field: string): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', field, '-p', String(pid)], { encoding: 'latin1' });
  const text = (stdout ?? '').trim();
  return text === '' ? undefined : text;
}
