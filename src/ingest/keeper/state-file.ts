import { join } from 'node:path';
import { decodeIdentity, type ProcessIdentity } from '../child/process-identity.js';
import { readJsonFile, writeWholeFile } from '../spool/whole-file.js';

/** The keeper of a data directory: who it is and where it listens. */
export interface KeeperState extends ProcessIdentity {
  /** Absolute path of its Unix socket. */
  readonly socketPath: string;
}

/** Path of the state file, mode 0600. */
export function keeperStateFile(dataDir: string): string {
  return join(dataDir, 'keeper.json');
}

/** What the state file says, whether or not that keeper lives; undefined if there is none. */
export function readKeeperState(dataDir: string): KeeperState | undefined {
  const value = readJsonFile(keeperStateFile(dataDir));
  const identity = decodeIdentity(value);
  if (identity === undefined) return undefined;
  const { socketPath } = value as { socketPath?: unknown };
  return typeof socketPath === 'string' ? { ...identity, socketPath } : undefined;
}

/** Makes the state known; readers see it whole or not at all. */
export function writeKeeperState(dataDir: string, state: KeeperState): void {
  writeWholeFile(keeperStateFile(dataDir), `${JSON.stringify(state)}\n`, 'process');
}
