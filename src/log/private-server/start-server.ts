import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { BridgeError } from '../../errors.js';
import { identifyProcess } from '../../ingest/child/process-identity.js';
import type { Survives } from '../../ingest/spool/whole-file.js';
import { awaitPort } from './await-listening.js';
import { writeServerConfig } from './server-config.js';
import {
  type ServerPaths,
  type ServerState,
  serverPaths,
  writeServerState,
} from './server-state.js';

/** What acknowledged events survive: `process` any kill, `power` a power cut as well. */
export type Durability = Survives;

export interface StartServerOptions {
  readonly dataDir: string;
  /** Path of the program. */
  readonly binary: string;
  readonly durability: Durability;
  /** Port and token of the server before, whose clients wait for it; a new choice otherwise. */
  readonly before?: Pick<ServerState, 'port' | 'token'>;
}

/** A big store takes its time to recover, and what is killed meanwhile begins anew. */
const START_TIMEOUT_MS = 600_000;

/**
 * Starts a nats-server that outlives this process, and returns when it listens. It is on file, without
 * its port, as soon as it runs. Throws `NATS_UNREACHABLE` with the end of its log if it does not come
 * up; then it is dead.
 */
export async function startServer(options: StartServerOptions): Promise<ServerState> {
  const { dataDir, durability, before } = options;
  const paths = serverPaths(dataDir);
  rmSync(paths.ports, { recursive: true, force: true });
  mkdirSync(paths.ports, { recursive: true, mode: 0o700 });
  const token = before?.token ?? randomBytes(24).toString('base64url');
  const port = before === undefined || before.port === 0 ? undefined : before.port;
  writeServerConfig(paths, { token, durability, port });
  const child = spawnServer(options.binary, paths);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity !== undefined) {
    writeServerState(dataDir, { ...identity, port: port ?? 0, token, durability });
  }

  let ended: string | undefined;
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = error.message;
      resolve();
    });
    child.once('exit', (code, signal) => {
      ended = `ended with ${signal ?? `exit ${code}`}`;
      resolve();
    });
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  const isOver = (): boolean => ended !== undefined || performance.now() > deadline;
  const listening = await awaitPort(paths.ports, isOver);
  if (listening !== undefined && identity !== undefined) {
    const state = { ...identity, port: listening, token, durability };
    writeServerState(dataDir, state);
    return state;
  }
  const why = ended ?? 'it does not listen';
  child.kill('SIGKILL');
  await exited;
  throw new BridgeError(
    'NATS_UNREACHABLE',
    `the private nats-server did not come up: ${why}; its log ends: ${lastWords(paths)}`,
  );
}

function spawnServer(binary: string, paths: ServerPaths): ChildProcess {
  const output = openSync(paths.output, 'w', 0o600);
  const child = spawn(binary, ['-c', paths.config], {
    detached: true,
    stdio: ['ignore', output, output],
    env: {},
    cwd: paths.dir,
  });
  closeSync(output);
  child.unref();
  return child;
}

function lastWords({ log, output }: ServerPaths): string {
  return [output, log].map(readEnd).filter(Boolean).join(' | ');
}

function readEnd(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-600).trim();
  } catch {
    return '';
  }
}
