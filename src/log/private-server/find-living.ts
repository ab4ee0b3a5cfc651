import { readdirSync, readFileSync } from 'node:fs';
import { identifyProcess, isAlive } from '../../ingest/child/process-identity.js';
import { readServerConfig } from './server-config.js';
import { readServerState, type ServerState, serverPaths } from './server-state.js';

/**
 * The server that an earlier bridge left on this data directory, by its state file, or else by the
 * configuration that it was started with: a bridge can be killed between the start and the file.
 * Undefined if none lives. The caller holds the directory's lock.
 */
export function findLivingServer(dataDir: string): ServerState | undefined {
  const state = readServerState(dataDir);
  if (state !== undefined && isAlive(state)) return state;
  const paths = serverPaths(dataDir);
  const config = readServerConfig(paths);
  if (config === undefined) return undefined;
  for (const pid of processesWithArgument(paths.config)) {
    const identity = identifyProcess(pid);
    if (identity !== undefined && isAlive(identity)) return { ...identity, ...config, port: 0 };
  }
  return undefined;
}

/** Where there is `/proc`; nothing elsewhere. */
function processesWithArgument(argument: string): number[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names
    .filter((name) => /^[1-9]\d*$/.test(name) && argumentsOf(name)[1] === '-c')
    .filter((name) => argumentsOf(name)[2] === argument)
    .map(Number);
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
