import { join } from 'node:path';
import { decodeIdentity, type ProcessIdentity } from '../../ingest/child/process-identity.js';
import { readJsonFile, writeWholeFile } from '../../ingest/spool/whole-file.js';

/** A private nats-server: who it is and how to reach it. */
export interface ServerState extends ProcessIdentity {
  /** On 127.0.0.1. */
  readonly port: number;
  readonly token: string;
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
  const { port, token } = value as { port?: unknown; token?: unknown };
  return typeof port === 'number' && typeof token === 'string'
    ? { ...identity, port, token }
    : undefined;
}

export function writeServerState(dataDir: string, state: ServerState): void {
  writeWholeFile(serverStateFile(dataDir), `${JSON.stringify(state)}\n`, 'process');
}

export function serverUrl(state: Pick<ServerState, 'port'>): string {
  return `nats://127.0.0.1:${state.port}`;
}
