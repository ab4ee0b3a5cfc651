import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { BridgeError } from '../../src/errors.js';
import { createLogReader } from '../../src/log/create-log-reader.js';
import type { LogAccess } from '../../src/log/log-access.js';
import type { LogReader } from '../../src/log/log-reader.js';
import { STREAM } from '../../src/log/names.js';
import type { KnownRun } from '../../src/serve/run-lookup.js';
import type { Runs } from '../../src/serve/runs.js';
import { type RunningServer, type ServerOptions, startServer } from '../../src/serve/server.js';
import { createRunFeed, type FeedOptions, type RunFeed } from './run-feed.js';

/** A real nats-server, a gateway's serve room on it and a client. */
export interface ServeFixture extends AsyncDisposable {
  readonly access: LogAccess;
  readonly reader: LogReader;
  readonly known: Map<string, KnownRun>;
  /** A run's writer; the run is known from now on unless `isUnknown`. */
  feed(options?: FeedOptions): RunFeed;
  serve(options?: Partial<ServerOptions>): Promise<Gateway>;
  /** Makes the stream anew. */
  recreateStream(): Promise<void>;
}

export interface Gateway extends AsyncDisposable {
  readonly server: RunningServer;
  readonly client: ReturnType<typeof connectBridge>;
}

export async function startFixture(): Promise<ServeFixture> {
  const closers: (() => Promise<void>)[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'hep-serve-'));
  closers.unshift(() => rm(directory, { recursive: true, force: true }));
  const { child, url } = await startNats(directory);
  closers.unshift(() => stopNats(child));
  const connection: NatsConnection = await connect({ servers: url });
  closers.unshift(() => connection.close());
  const manager = await jetstreamManager(connection);
  const client: JetStreamClient = jetstream(connection);
  const access: LogAccess = { connection, manager, client };
  const addStream = async (): Promise<void> => {
    await manager.streams.add({ name: STREAM, subjects: ['hep.event.v1.>'], allow_direct: true });
  };
  await addStream();
  const reader = createLogReader(access);
  const known = new Map<string, KnownRun>();
  const serve = async (options: Partial<ServerOptions> = {}): Promise<Gateway> => {
    const server = await startServer({
      listen: '127.0.0.1:0',
      runs: noRuns,
      logReader: reader,
      lookupRun: async (tenant, runId) => {
        const run = known.get(runId);
        return run?.subjectPrefix.startsWith(`hep.event.v1.${tenant}.`) ? run : undefined;
      },
      cursorKey: Buffer.alloc(32, 1),
      closeMs: 500,
      ...options,
    });
    const bridge = connectBridge(server.address);
    const close = async (): Promise<void> => {
      await bridge.close();
      await server.close();
    };
    return { server, client: bridge, [Symbol.asyncDispose]: close };
  };
  return {
    access,
    reader,
    known,
    feed: (options) => createRunFeed(client, known, options),
    serve,
    recreateStream: async () => {
      await manager.streams.delete(STREAM);
      await addStream();
    },
    [Symbol.asyncDispose]: async () => {
      for (const close of closers) await close();
    },
  };
}

/** Refuses everything; tests replace what they need. */
export const noRuns: Runs = {
  start: () => Promise.reject(new BridgeError('PROFILE_NOT_FOUND', 'no profile here')),
  get: ({ runId }) => Promise.reject(new BridgeError('RUN_NOT_FOUND', `there is no run ${runId}`)),
  list: () => Promise.reject(new BridgeError('INTERNAL', 'no list')),
  cancel: ({ runId }) => Promise.reject(new BridgeError('OWNER_UNREACHABLE', `owner of ${runId}`)),
  // biome-ignore lint/correctness/useYield: refuses before the first response
  ingest: async function* () {
    throw new BridgeError('INGEST_GAP', 'a gap');
  },
};

async function startNats(directory: string): Promise<{ child: ChildProcess; url: string }> {
  const binary = fileURLToPath(new URL('../../bin/nats-server', import.meta.url));
  const child = spawn(binary, ['-js', '-sd', directory, '-a', '127.0.0.1', '-p', '-1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let port = '';
  for await (const line of createInterface({ input: child.stderr })) {
    port = /client connections on [^:]+:(\d+)/.exec(line)?.[1] ?? port;
    if (line.includes('Server is ready')) break;
  }
  child.stderr.resume();
  return { child, url: `nats://127.0.0.1:${port}` };
}

async function stopNats(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
