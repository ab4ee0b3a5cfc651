import { join } from 'node:path';
import { decodeIdentity, type ProcessIdentity } from '../../ingest/child/process-identity.js';
import { readJsonFile, type Survives, writeWholeFile } from '../../ingest/spool/whole-file.js';

/** A private nats-server: who it is and how to reach it. */
export interface ServerState extends ProcessIdentity {
  /** On 127.0.0.1; 0 while a new server has not chosen one. */
  readonly port: number;
  readonly token: string;
  /** What acknowledged events survive. */
  readonly durability: Survives;
}

/** Paths of a private server, all under the data directory. */
export interface ServerPaths {
  /** Directory of everything else; the server's working directory. */
  readonly dir: string;
  readonly config: string;
  /** What it says before its log is open, or instead. */
  readonly output: string;
  readonly log: string;
  /** Where it writes the ports that it chose. */
  readonly ports: string;
  readonly store: string;
}

export function serverPaths(dataDir: string): ServerPaths {
  const dir = join(dataDir, 'nats');
  return {
    dir,
    config: join(dir, 'server.conf'),
    output: join(dir, 'server.out'),
    log: join(dir, 'server.log'),
    ports: join(dir, 'ports'),
    store: join(dir, 'store'),
  };
}

/** Path of the state file, mode 0600: it holds the token. */
export function serverStateFile(dataDir: string): string {
  return join(dataDir, 'nats-server.json');
}

/** What the file says, whether or not that server lives; undefined if there is none. */
export function readServerState(dataDir: string): ServerState | undefined {
  const value = readJsonFile(serverStateFile(dataDir));
  const identity = decodeIdentity(value);
  if (identity === undefined) return undefined;
  const { port, token, durability } = value as Partial<Record<keyof ServerState, unknown>>;
  if (typeof port !== 'number' || typeof token !== 'string') return undefined;
  return { ...identity, port, token, durability: durability === 'power' ? 'power' : 'process' };
}

export function writeServerState(dataDir: string, state: ServerState): void {
  writeWholeFile(serverStateFile(dataDir), `${JSON.stringify(state)}\n`, 'process');
}

export function serverUrl(state: Pick<ServerState, 'port'>): string {
  return `nats://127.0.0.1:${state.port}`;
}
