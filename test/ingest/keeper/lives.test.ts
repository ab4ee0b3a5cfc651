import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { adoptChild } from '../../../src/ingest/child/child-source.js';
import { ensureKeeper } from '../../../src/ingest/keeper/ensure-keeper.js';
import { livingProcesses } from '../../../src/ingest/keeper/process-table.js';
import { readKeeperState, writeKeeperState } from '../../../src/ingest/keeper/state-file.js';
import { stopProcess } from '../../support/stop-process.js';
import {
  ended,
  isRunning,
  known,
  makeDataDir,
  openKeeper,
  pidOf,
  run,
  stdoutHas,
} from './keeper-fixture.js';

const bridge = fileURLToPath(new URL('./bridge.mjs', import.meta.url));

interface Bridge {
  readonly process: ReturnType<typeof spawn>;
  readonly said: { readonly dir: string; readonly pid: number; readonly keeper: number };
}

async function startBridge(dataDir: string, ...argv: string[]): Promise<Bridge> {
  const process_ = spawn(process.execPath, [bridge, dataDir, 'run-a', ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(process_.stdout), 'line');
  return { process: process_, said: JSON.parse(String(line)) };
}

test('a bridge killed with SIGKILL loses neither its child, nor its output, nor its exit code', async () => {
  const dataDir = makeDataDir();
  const gate = join(dataDir, 'gate');
  const script = `echo before; while [ ! -e ${gate} ]; do sleep 0.01; done; echo after; exit 42`;
  const first = await startBridge(dataDir, 'sh', '-c', script);
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  expect(isRunning(first.said.pid)).toBe(true);
  writeFileSync(gate, '');
  await ended(first.said.pid);
  const keeper = await ensureKeeper({ dataDir, idleMs: 200 });
  expect(keeper.pid).toBe(first.said.keeper);
  const child = adoptChild(keeper, 'run-a', first.said.dir);
  if (child === undefined) throw new Error('no child is recorded');
  const { exit, stdout } = await run(child);
  expect(stdout).toBe('before\nafter\n');
  expect(known(exit).code).toBe(42);
  keeper.close();
  await ended(keeper.pid);
  rmSync(dataDir, { recursive: true });
});

test('a keeper that is killed leaves a child that runs on, can be cancelled, and ends unknown', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', 'echo up; sleep 300; echo never']);
  await stdoutHas(child, 'up');
  process.kill(keeper.keeper.pid, 'SIGKILL');
  await ended(keeper.keeper.pid);
  expect(isRunning(pidOf(child))).toBe(true);
  const sent: unknown[] = [];
  await child.escalate({ onSignal: (report) => sent.push(report), interruptGraceMs: 100 });
  const { exit, stdout } = await run(child);
  expect(stdout).toBe('up\n');
  // The sleep that the shell left is killed here, as the keeper would have done.
  expect(exit).toEqual({ unknown: true, stdoutBytes: 3, stderrBytes: 0, leftover: 1 });
  const left = livingProcesses().filter(({ processGroup }) => processGroup === child.pid);
  await Promise.all(left.map(async ({ pid }) => await ended(pid)));
  expect(sent[0]).toEqual({ signal: 'SIGINT', processGroup: false });
});

test('a living keeper is adopted, and one data directory has one', async () => {
  await using first = await openKeeper();
  await using second = await ensureTwice(first.dataDir);
  expect(second.pids).toEqual([first.keeper.pid, first.keeper.pid]);
});

test('a keeper ends when it has neither child nor bridge, and cleans up', async () => {
  const dataDir = makeDataDir();
  const keeper = await ensureKeeper({ dataDir, idleMs: 1 });
  const state = readKeeperState(dataDir);
  expect(statSync(join(dataDir, 'keeper.json')).mode & 0o777).toBe(0o600);
  expect(statSync(state?.socketPath ?? '').mode & 0o777).toBe(0o600);
  keeper.close();
  keeper.close();
  await ended(keeper.pid);
  expect(readKeeperState(dataDir)).toBeUndefined();
  expect(existsSync(state?.socketPath ?? '')).toBe(false);
  expect(readFileSync(join(dataDir, 'keeper.log'), 'utf8')).toBe('');
  rmSync(dataDir, { recursive: true });
});

test('a keeper with a child stays after stop and SIGTERM, and ends with the child', async () => {
  const dataDir = makeDataDir();
  const { process: bridgeProcess, said } = await startBridge(dataDir, 'sleep', '300');
  bridgeProcess.kill('SIGKILL');
  await once(bridgeProcess, 'exit');
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM']) process.kill(said.keeper, signal);
  const keeper = await ensureKeeper({ dataDir });
  expect(keeper.pid).toBe(said.keeper);
  await keeper.stop();
  keeper.close();
  expect(isRunning(said.keeper)).toBe(true);
  process.kill(said.pid, 'SIGKILL');
  await ended(said.keeper);
  expect(JSON.parse(readFileSync(join(said.dir, 'exit.json'), 'utf8'))).toMatchObject({
    code: null,
    signal: 'SIGKILL',
  });
  rmSync(dataDir, { recursive: true });
});

test('a keeper that ends is replaced at the next spawn', async () => {
  await using keeper = await openKeeper();
  const before = keeper.keeper.pid;
  process.kill(before, 'SIGKILL');
  const { exit } = await run(await keeper.start(['true']));
  expect(known(exit).code).toBe(0);
  expect(keeper.keeper.pid).not.toBe(before);
});

test('a data directory with a long path has its socket elsewhere, and it is removed', async () => {
  const root = makeDataDir();
  const dataDir = join(root, 'd'.repeat(120));
  mkdirSync(dataDir);
  const keeper = await ensureKeeper({ dataDir, idleMs: 1 });
  const socketPath = readKeeperState(dataDir)?.socketPath ?? '';
  expect(socketPath.startsWith(root)).toBe(false);
  expect(Buffer.byteLength(socketPath)).toBeLessThan(100);
  expect(statSync(join(socketPath, '..')).mode & 0o777).toBe(0o700);
  keeper.close();
  await ended(keeper.pid);
  expect(existsSync(join(socketPath, '..'))).toBe(false);
  rmSync(root, { recursive: true });
});

test('a state file whose pid is another process by now is not believed', async () => {
  await using first = await openKeeper();
  const state = readKeeperState(first.dataDir);
  if (state === undefined) throw new Error('no state');
  const dataDir = makeDataDir();
  writeKeeperState(dataDir, { ...state, pid: process.pid });
  const keeper = await ensureKeeper({ dataDir, idleMs: 1 });
  expect([process.pid, first.keeper.pid]).not.toContain(keeper.pid);
  keeper.close();
  await ended(keeper.pid);
  rmSync(dataDir, { recursive: true });
});

test('a keeper that is stopped, and one that speaks another version, are named', async () => {
  await using first = await openKeeper();
  const { dataDir } = first;
  await stopProcess(first.keeper.pid);
  await expect(ensureKeeper({ dataDir, timeoutMs: 100 })).rejects.toMatchObject({
    code: 'KEEPER_UNREACHABLE',
    message: expect.stringContaining(`pid ${first.keeper.pid} lives but does not answer`),
  });
  process.kill(first.keeper.pid, 'SIGCONT');

  const other = makeDataDir();
  const socketPath = join(other, 'keeper.sock');
  const server = createServer((socket) => socket.end('{"id":1,"protocol":99}\n')).listen(
    socketPath,
  );
  await once(server, 'listening');
  const state = readKeeperState(dataDir);
  if (state === undefined) throw new Error('no state');
  writeKeeperState(other, { ...state, socketPath });
  await expect(ensureKeeper({ dataDir: other })).rejects.toMatchObject({
    message: expect.stringContaining('speaks version 99, not 1'),
  });
  server.close();
  rmSync(other, { recursive: true });
});

test('a data directory that cannot be written to is an error that names it', async () => {
  await expect(ensureKeeper({ dataDir: '/proc/none' })).rejects.toMatchObject({
    code: 'KEEPER_UNREACHABLE',
    message: expect.stringContaining('/proc/none'),
  });
});

async function ensureTwice(dataDir: string): Promise<AsyncDisposable & { pids: number[] }> {
  const keepers = await Promise.all([ensureKeeper({ dataDir }), ensureKeeper({ dataDir })]);
  return {
    pids: keepers.map(({ pid }) => pid),
    [Symbol.asyncDispose]: async () => {
      for (const keeper of keepers) keeper.close();
    },
  };
}
