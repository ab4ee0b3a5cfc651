import { readJsonFile, type Survives, writeWholeFile } from '../../ingest/spool/whole-file.js';
import type { ServerPaths } from './server-state.js';

export interface ServerConfig {
  readonly token: string;
  readonly durability: Survives;
  /** Undefined: the server chooses. */
  readonly port: number | undefined;
}

const LOG_BYTES = 10 * 1_048_576;
const LOG_FILES = 2;

/** Writes the server's configuration, mode 0600: it holds the token. No monitoring port is opened. */
export function writeServerConfig(paths: ServerPaths, config: ServerConfig): void {
  const { token, durability, port } = config;
  const value = {
    server_name: 'hep-bridge-private',
    listen: `127.0.0.1:${port ?? -1}`,
    ports_file_dir: paths.ports,
    log_file: paths.log,
    logfile_size_limit: LOG_BYTES,
    logfile_max_num: LOG_FILES,
    authorization: { token },
    jetstream: {
      store_dir: paths.store,
      ...(durability === 'power' ? { sync_interval: 'always' } : {}),
    },
  };
  // The server's configuration language is a superset of JSON.
  writeWholeFile(paths.config, `${JSON.stringify(value, undefined, 2)}\n`, 'process');
}

/** What the file says; undefined if there is none that `writeServerConfig` wrote. */
export function readServerConfig(
  paths: ServerPaths,
): Pick<ServerConfig, 'token' | 'durability'> | undefined {
  const value = readJsonFile(paths.config);
  if (typeof value !== 'object' || value === null) return undefined;
  const { authorization, jetstream } = value as {
    authorization?: { token?: unknown };
    jetstream?: { sync_interval?: unknown };
  };
  const token = authorization?.token;
  if (typeof token !== 'string') return undefined;
  return { token, durability: jetstream?.sync_interval === 'always' ? 'power' : 'process' };
}
