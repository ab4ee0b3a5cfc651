import { mkdirSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { spoolDir, spoolRoot } from './layout.js';
import { listSpools } from './run-spool.js';

export interface SpaceLimits {
  /** Bytes that must stay free on the file system; below it no run is started. 0: no reserve. */
  readonly reserveBytes: number;
  /** Bytes that all spools together may take. 0: no quota. */
  readonly quotaBytes: number;
}

export interface SpoolSpace {
  /** Bytes that this user may still write on the file system of the data directory. */
  readonly freeBytes: number;
  /** Bytes in the spools of all runs (sizes of the files, not blocks). */
  readonly usedBytes: number;
  /** What is wrong; the reserve comes first, since a full disk harms every run. */
  readonly state: 'ok' | 'below-reserve' | 'over-quota';
}

/** Bytes that this user may still write on the file system that holds `dataDir`. */
export async function freeBytes(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir);
  return bavail * bsize;
}

/** Bytes that the files of one run take; 0 if it has no spool. */
export async function spoolBytes(dataDir: string, runId: string): Promise<number> {
  const dir = spoolDir(dataDir, runId);
  let total = 0;
  for (const name of await readdir(dir).catch(noneIfMissing)) {
    // Files come and go while the run lives.
    const facts = await stat(join(dir, name)).catch(() => undefined);
    total += facts?.size ?? 0;
  }
  return total;
}

/** How the spools stand against their limits. Says only; what follows from it is the caller's. */
export async function checkSpace(dataDir: string, limits: SpaceLimits): Promise<SpoolSpace> {
  mkdirSync(spoolRoot(dataDir), { recursive: true, mode: 0o700 });
  let usedBytes = 0;
  for (const runId of await listSpools(dataDir)) usedBytes += await spoolBytes(dataDir, runId);
  const free = await freeBytes(spoolRoot(dataDir));
  return { freeBytes: free, usedBytes, state: judge(free, usedBytes, limits) };
}

function judge(free: number, used: number, limits: SpaceLimits): SpoolSpace['state'] {
  if (free < limits.reserveBytes) return 'below-reserve';
  if (limits.quotaBytes > 0 && used > limits.quotaBytes) return 'over-quota';
  return 'ok';
}

function noneIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
