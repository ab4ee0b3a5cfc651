import { existsSync, realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { BridgeError } from '../../errors.js';
import { isAlive } from '../../ingest/child/process-identity.js';
import { awaitPort, greets } from './await-listening.js';
import { findServerBinary } from './find-binary.js';
import { findLivingServer } from './find-living.js';
import {
  readServerState,
  type ServerState,
  serverPaths,
  serverUrl,
  writeServerState,
} from './server-state.js';
import { type Durability, type StartServerOptions, startServer } from './start-server.js';

export interface PrivateServerOptions {
  /** This process holds its lock, so nobody else starts a server on the same store. */
  readonly dataDir: string;
  readonly binary: string | undefined;
  readonly durability: Durability;
  /** The server died and was started again, or could not be. */
  readonly onRestart: (state: ServerState | Error) => void;
}

export interface PrivateServer {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** A server that an earlier bridge had left behind. */
  readonly adopted: boolean;
  /** Ends the watch, and the server with it unless it is to be left for the next bridge. Safe twice. */
  close(options?: { readonly leave?: boolean }): Promise<void>;
}

const WATCH_MS = 200;
const RESTART_MS = 500;
const STOP_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

/**
 * The private nats-server of a data directory: the living one, which a crashed bridge left behind,
 * or a new one. It is watched, and started again on its port if it dies. A second server on a living
 * one's store would lose acknowledged events without a word, hence the lock and the identity check.
 * Throws `NATS_SERVER_MISSING`, and `NATS_UNREACHABLE` for a living one that does not answer or a new
 * one that does not come up.
 */
export async function openPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const dataDir = realpathSync(options.dataDir);
  const { durability } = options;
  const binary = findServerBinary(options.binary);
  const starting: StartServerOptions = { dataDir, durability, binary };
  const living = findLivingServer(dataDir);
  let adopted = living === undefined ? undefined : await adopt(dataDir, living);
  if (adopted !== undefined && adopted.durability !== durability) {
    await stopServer(adopted);
    adopted = undefined;
  }
  let state = adopted ?? (await startOnOldPort(starting, living ?? readServerState(dataDir)));
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  async function restart(): Promise<void> {
    try {
      state = await startServer({ ...starting, before: state });
      options.onRestart(state);
    } catch (thrown) {
      options.onRestart(thrown instanceof Error ? thrown : new Error(String(thrown)));
      await pause(RESTART_MS, closing.signal);
    }
  }

  async function watch(): Promise<void> {
    while (!closing.signal.aborted) {
      if (!isAlive(state)) await restart();
      await pause(WATCH_MS, closing.signal);
    }
  }
  const watched = watch();

  async function close(leave: boolean): Promise<void> {
    closing.abort();
    await watched;
    if (!leave) await stopServer(state);
  }

  return {
    url: serverUrl(state),
    token: state.token,
    get pid() {
      return state.pid;
    },
    adopted: adopted !== undefined,
    close({ leave = false } = {}) {
      closed ??= close(leave);
      return closed;
    },
  };
}

/** Waits for one that is still starting; undefined if it dies meanwhile. */
async function adopt(dataDir: string, living: ServerState): Promise<ServerState | undefined> {
  const paths = serverPaths(dataDir);
  const port = existsSync(paths.ports)
    ? await awaitPort(paths.ports, () => !isAlive(living))
    : living.port;
  if (port === undefined) return undefined;
  if (!(await greets(port))) {
    if (!isAlive(living)) return undefined;
    throw new BridgeError(
      'NATS_UNREACHABLE',
      `the private nats-server of an earlier bridge (pid ${living.pid}) lives but does not answer on ` +
        `port ${port}; look at ${paths.log}, and end it with "kill ${living.pid}"`,
    );
  }
  const state = { ...living, port };
  writeServerState(dataDir, state);
  return state;
}

/** Workers may wait on the port of the server before; if it is taken by now, on a new one. */
async function startOnOldPort(
  options: StartServerOptions,
  before: ServerState | undefined,
): Promise<ServerState> {
  if (before === undefined) return await startServer(options);
  try {
    return await startServer({ ...options, before });
  } catch {
    return await startServer(options);
  }
}

async function stopServer(state: ServerState): Promise<void> {
  for (let waitedMs = 0; isAlive(state); waitedMs += POLL_MS) {
    if (waitedMs === 0) signalServer(state, 'SIGTERM');
    if (waitedMs === STOP_TIMEOUT_MS) signalServer(state, 'SIGKILL');
    await delay(POLL_MS);
  }
}

function signalServer({ pid }: ServerState, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself a moment ago.
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
