import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  identifyProcess,
  isAlive,
  type ProcessIdentity,
} from '../../src/ingest/child/process-identity.js';
import { connectNats } from '../../src/log/connect.js';
import { openLog } from '../../src/log/open-log.js';
import {
  openPrivateServer,
  type PrivateServer,
  type PrivateServerOptions,
} from '../../src/log/private-server/private-server.js';
import { readServerState, serverStateFile } from '../../src/log/private-server/server-state.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { stopProcess } from '../support/stop-process.js';
import { commitOf, eventsTo, newPrefix, stored, writerOf } from './log-fixture.js';

let dataDir: string;
/** Ends what a test opened, the last first. */
let closers: (() => Promise<void>)[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hep-private-'));
  closers = [];
});

afterEach(async () => {
  for (const close of closers.reverse()) await close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function open(options: Partial<PrivateServerOptions> = {}): Promise<PrivateServer> {
  const server = await openPrivateServer({
    dataDir,
    binary: undefined,
    durability: 'process',
    onRestart: () => undefined,
    ...options,
  });
  closers.push(() => server.close());
  return server;
}

async function connectTo({ url, token }: PrivateServer): Promise<NatsConnection> {
  const connection = await connectNats({ url, token }, 'test');
  closers.push(() => connection.close());
  return connection;
}

function identityOf(pid: number): ProcessIdentity {
  const identity = identifyProcess(pid);
  if (identity === undefined) throw new Error(`no process ${pid}`);
  return identity;
}

/** Kills the server until another gets its port before it is started again. */
async function stealPort(
  server: PrivateServer,
  port: number,
  restarts: EventEmitter,
): Promise<Server> {
  for (;;) {
    const back = once(restarts, 'back');
    const identity = identityOf(server.pid);
    process.kill(server.pid, 'SIGKILL');
    while (isAlive(identity)) await new Promise((resolve) => setImmediate(resolve));
    const thief = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
    try {
      await once(thief, 'listening');
      return thief;
    } catch {
      await back;
    }
  }
}

describe('the private server', () => {
  it('listens on loopback, for whoever has the token in the file that only its user reads', async () => {
    const server = await open();
    expect(server.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
    await expect(connectNats({ url: server.url }, 'test')).rejects.toMatchObject({
      code: 'NATS_UNREACHABLE',
    });
    await connectTo(server);
    expect(statSync(serverStateFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'nats', 'server.conf')).mode & 0o777).toBe(0o600);
    expect(readServerState(dataDir)).toMatchObject({ pid: server.pid, token: server.token });
  });

  it('stops with its bridge, and comes back on its port with what it holds', async () => {
    const server = await open();
    const connection = await connectTo(server);
    const log = await openLog(connection, DEFAULT_STREAM_OPTIONS);
    const prefix = newPrefix();
    await writerOf(log, prefix).commit(commitOf(1));
    await connection.close();
    const identity = identityOf(server.pid);
    await server.close();
    await server.close();
    expect(isAlive(identity)).toBe(false);
    const again = await open();
    expect(again).toMatchObject({ url: server.url, token: server.token, adopted: false });
    const later = await openLog(await connectTo(again), DEFAULT_STREAM_OPTIONS);
    expect(await stored(later, prefix)).toEqual(['event 1']);
  });

  it('is adopted by the next bridge if it was left', async () => {
    const server = await open();
    await server.close({ leave: true });
    const again = await open();
    expect(again).toMatchObject({ pid: server.pid, url: server.url, adopted: true });
    await connectTo(again);
  });

  it.skipIf(process.platform !== 'linux')(
    'is adopted even if its bridge died before it could write the state file',
    async () => {
      const server = await open();
      await server.close({ leave: true });
      rmSync(serverStateFile(dataDir));
      const again = await open();
      expect(again).toMatchObject({ pid: server.pid, url: server.url, adopted: true });
      expect(again.token).toBe(server.token);
      await connectTo(again);
    },
  );

  it('is started anew on its port if the one left has another durability', async () => {
    const server = await open();
    await server.close({ leave: true });
    const identity = identityOf(server.pid);
    const again = await open({ durability: 'power' });
    expect(again).toMatchObject({ url: server.url, adopted: false });
    expect(isAlive(identity)).toBe(false);
    expect(readServerState(dataDir)?.durability).toBe('power');
  });

  it('is not doubled if the one left hangs: the error names its pid', async () => {
    const server = await open();
    await server.close({ leave: true });
    await stopProcess(server.pid);
    closers.push(async () => {
      process.kill(server.pid, 'SIGCONT');
      await open();
    });
    await expect(open()).rejects.toMatchObject({
      code: 'NATS_UNREACHABLE',
      message: expect.stringContaining(`kill ${server.pid}`),
    });
    process.kill(server.pid, 'SIGCONT');
    expect((await open()).pid).toBe(server.pid);
    closers.splice(1, 1);
  }, 20_000);

  it('is started again when it is killed, and writers go on where they were', async () => {
    let restarts = 0;
    const server = await open({ onRestart: () => (restarts += 1) });
    const log = await openLog(await connectTo(server), DEFAULT_STREAM_OPTIONS);
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    for (let i = 1; i <= 100; i += 1) {
      if (i % 40 === 0) process.kill(server.pid, 'SIGKILL');
      await writer.commit(commitOf(i));
    }
    expect(await stored(log, prefix)).toEqual(eventsTo(100));
    expect(restarts).toBe(2);
  });

  it('waits for its port, if another took it while it was dead', async () => {
    const port = Number(new URL((await open()).url).port);
    await closers.pop()?.();
    const events = new EventEmitter();
    const server = await open({
      onRestart: (state) => events.emit(state instanceof Error ? 'failed' : 'back'),
    });
    expect(server.url).toContain(`:${port}`);
    const thief = await stealPort(server, port, events);
    await once(events, 'failed');
    const back = once(events, 'back');
    await new Promise((resolve) => thief.close(resolve));
    await back;
    expect(readServerState(dataDir)?.port).toBe(port);
    await connectTo(server);
  }, 20_000);

  it('takes another port at the start, if its old one is taken', async () => {
    const server = await open();
    const port = Number(new URL(server.url).port);
    await server.close();
    const thief = createServer().listen(port, '127.0.0.1');
    await once(thief, 'listening');
    const again = await open();
    expect(again.url).not.toBe(server.url);
    await connectTo(again);
    await new Promise((resolve) => thief.close(resolve));
  });

  it('is NATS_SERVER_MISSING, with the remedy, without its program', async () => {
    await expect(open({ binary: '/no/such/nats-server' })).rejects.toMatchObject({
      code: 'NATS_SERVER_MISSING',
      message: expect.stringMatching(/\/no\/such\/nats-server.*make build.*--nats-server/),
    });
  });

  it('is NATS_UNREACHABLE, with what it said, if it ends at once', async () => {
    await expect(open({ binary: '/bin/false' })).rejects.toMatchObject({
      code: 'NATS_UNREACHABLE',
      message: expect.stringContaining('exit 1'),
    });
  });
});
