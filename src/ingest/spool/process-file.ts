import { join } from 'node:path';
import { decodeIdentity, type ProcessIdentity } from '../child/process-identity.js';
import { spoolFiles } from './layout.js';
import { readJsonFile, writeWholeFile } from './whole-file.js';

/** The child of a run, and the keeper that alone can learn its exit. */
export interface ProcessRecord extends ProcessIdentity {
  readonly keeper: ProcessIdentity;
}

/** Writes `process.json`; readers see it whole or not at all. */
export function writeProcessRecord(dir: string, record: ProcessRecord): void {
  writeWholeFile(join(dir, spoolFiles.process), `${JSON.stringify(record)}\n`, 'process');
}

/** What `process.json` says; undefined while no child is recorded. */
export function readProcessRecord(dir: string): ProcessRecord | undefined {
  const value = readJsonFile(join(dir, spoolFiles.process));
  const identity = decodeIdentity(value);
  if (identity === undefined) return undefined;
  const keeper = decodeIdentity((value as { keeper?: unknown }).keeper);
  return keeper === undefined ? undefined : { ...identity, keeper };
}
