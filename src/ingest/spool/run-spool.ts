import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError } from '../../errors.js';
import { errnoCode } from './errno.js';
import { isSpoolName, spoolDir, spoolFiles, spoolRoot } from './layout.js';
import { readJsonFile, writeWholeFile } from './whole-file.js';

export interface NewSpool {
  readonly dataDir: string;
  readonly runId: string;
  /** Any JSON value: what a restarted owner needs to take the run up again. */
  readonly request: unknown;
  /** The user's text, if the agent gets it by file or stdin. */
  readonly prompt?: string | Uint8Array;
}

/**
 * Makes the spool directory of a run (0700, files 0600) with its request, its prompt and its two
 * empty streams, and returns its path. `request.json` comes last and survives a power cut, so a
 * directory without it was never finished. Throws `RUN_EXISTS` if the run has one already and
 * `LIMIT_REACHED` if the disk is full; nothing is left then.
 */
export function createSpool({ dataDir, runId, request, prompt }: NewSpool): string {
  const dir = spoolDir(dataDir, runId);
  mkdirSync(spoolRoot(dataDir), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    throw new BridgeError('RUN_EXISTS', `run ${runId} has a spool directory already`);
  }
  try {
    closeSync(openSync(join(dir, spoolFiles.stdout), 'ax', 0o600));
    closeSync(openSync(join(dir, spoolFiles.stderr), 'ax', 0o600));
    if (prompt !== undefined) writeWholeFile(join(dir, spoolFiles.prompt), prompt, 'process');
    writeWholeFile(join(dir, spoolFiles.request), `${JSON.stringify(request)}\n`, 'power');
  } catch (cause) {
    rmSync(dir, { recursive: true, force: true });
    if (errnoCode(cause) !== 'ENOSPC' && errnoCode(cause) !== 'EDQUOT') throw cause;
    throw new BridgeError('LIMIT_REACHED', `no room for a spool in ${dataDir}`, { cause });
  }
  return dir;
}

/** The request of a run as it was given to `createSpool`; undefined if it was never finished. */
export function readRequest(dir: string): unknown {
  return readJsonFile(join(dir, spoolFiles.request));
}

/** Ids of all runs that have a spool directory, sorted (UUIDv7: oldest first). */
export async function listSpools(dataDir: string): Promise<readonly string[]> {
  let names: string[];
  try {
    names = await readdir(spoolRoot(dataDir));
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
  return names.filter(isSpoolName).sort();
}

/** Removes a run's spool and all it holds; nothing happens if there is none. */
export async function removeSpool(dataDir: string, runId: string): Promise<void> {
  await rm(spoolDir(dataDir, runId), { recursive: true, force: true });
}
