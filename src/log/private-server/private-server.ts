import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../ingest/child/process-identity.js';
import { findServerBinary } from './find-binary.js';
import { readServerState, type ServerState, serverUrl } from './server-state.js';
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
  /** Ends the watch, and the server with it unless it is to be left for the next bridge. */
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
 */
export async function openPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const { dataDir, durability } = options;
  const before = readServerState(dataDir);
  const adopted = before !== undefined && isAlive(before);
  const starting: StartServerOptions = {
    dataDir,
    durability,
    binary: findServerBinary(options.binary),
    ...(before === undefined ? {} : { before }),
  };
  let state = adopted ? before : await startOnAnyPort(starting);
  const closing = new AbortController();

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

  return {
    url: serverUrl(state),
    token: state.token,
    get pid() {
      return state.pid;
    },
    adopted,
    async close({ leave = false } = {}) {
      if (closing.signal.aborted) return;
      closing.abort();
      await watched;
      if (!leave) await stopServer(state);
    },
  };
}

/** The port of the server before may be taken by now; nobody waits for it yet. */
async function startOnAnyPort(options: StartServerOptions): Promise<ServerState> {
  try {
    return await startServer(options);
  } catch (thrown) {
    if (options.before === undefined) throw thrown;
    const { before: _, ...anew } = options;
    return await startServer(anew);
  }
}

async function stopServer(state: ServerState): Promise<void> {
  for (let waitedMs = 0; isAlive(state); waitedMs += POLL_MS) {
    if (waitedMs === 0) process.kill(state.pid, 'SIGTERM');
    if (waitedMs === STOP_TIMEOUT_MS) process.kill(state.pid, 'SIGKILL');
    await delay(POLL_MS);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
