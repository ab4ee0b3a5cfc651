import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BridgeError } from '../../errors.js';
import { identifyProcess } from '../../ingest/child/process-identity.js';
import { writeWholeFile } from '../../ingest/spool/whole-file.js';
import { type ServerState, writeServerState } from './server-state.js';

/** What acknowledged events survive: `process` any kill, `power` a power cut as well. */
export type Durability = 'process' | 'power';

export interface StartServerOptions {
  readonly dataDir: string;
  /** Path of the program. */
  readonly binary: string;
  readonly durability: Durability;
  /** Port and token of the server before, whose clients wait for it; a new choice otherwise. */
  readonly before?: Pick<ServerState, 'port' | 'token'>;
}

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 10;

/**
 * Starts a nats-server that outlives this process, and returns when it listens. Its state is on file
 * before this returns. Throws `NATS_UNREACHABLE` with the end of its log if it does not come up.
 */
export async function startServer(options: StartServerOptions): Promise<ServerState> {
  const { dataDir, binary, before } = options;
  const dir = join(dataDir, 'nats');
  const portsDir = join(dir, 'ports');
  rmSync(portsDir, { recursive: true, force: true });
  mkdirSync(portsDir, { recursive: true, mode: 0o700 });
  const token = before?.token ?? randomBytes(24).toString('base64url');
  const configFile = join(dir, 'server.conf');
  const logFile = join(dir, 'server.log');
  writeWholeFile(configFile, serverConfig(options, dir, portsDir, token), 'process');
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(binary, ['-c', configFile], {
    detached: true,
    stdio: ['ignore', log, log],
    env: {},
    cwd: dir,
  });
  closeSync(log);
  let ended: string | undefined;
  child.once('error', (error) => {
    ended = error.message;
  });
  child.once('exit', (code, signal) => {
    ended = `ended with ${signal ?? `exit ${code}`}`;
  });
  child.unref();
  for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS && ended === undefined; waitedMs += POLL_MS) {
    const port = readPort(portsDir);
    const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
    if (port !== undefined && identity !== undefined) {
      const state = { ...identity, port, token };
      writeServerState(dataDir, state);
      return state;
    }
    await delay(POLL_MS);
  }
  if (ended === undefined) child.kill('SIGKILL');
  const text = readFileSync(logFile, 'utf8').slice(-1_000).trim();
  throw new BridgeError(
    'NATS_UNREACHABLE',
    `the private nats-server did not come up: ${ended ?? 'no port in time'}; its log ends: ${text}`,
  );
}

function serverConfig(
  { durability, before }: StartServerOptions,
  dir: string,
  portsDir: string,
  token: string,
): string {
  const config = {
    server_name: 'hep-bridge-private',
    listen: `127.0.0.1:${before?.port ?? -1}`,
    ports_file_dir: portsDir,
    authorization: { token },
    jetstream: {
      store_dir: join(dir, 'store'),
      ...(durability === 'power' ? { sync_interval: 'always' } : {}),
    },
  };
  // The server's configuration language is a superset of JSON.
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** From `nats-server_<pid>.ports`, which the server writes once it listens. */
function readPort(portsDir: string): number | undefined {
  for (const name of readdirSync(portsDir)) {
    if (!name.endsWith('.ports')) continue;
    try {
      const { nats } = JSON.parse(readFileSync(join(portsDir, name), 'utf8')) as {
        nats?: readonly string[];
      };
      const port = nats?.map((url) => Number(new URL(url).port)).find((number) => number > 0);
      if (port !== undefined) return port;
    } catch {
      // Not written to its end yet.
    }
  }
  return undefined;
}
