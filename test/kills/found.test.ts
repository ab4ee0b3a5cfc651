import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterEach, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { StartRunRequestSchema } from '#gen/hep/bridge/v1/run_service_pb.js';
import type { BridgeClient } from '../../src/client/bridge-client.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { startRequestHash } from '../../src/control/request-hash.js';
import { toBridgeError } from '../../src/errors.js';
import { eventsOf, temporaryDir, verdictOf } from '../support/gateway.js';
import { startNats, type TestNats } from '../support/nats.js';
import { type ServedBridge, serveBridge } from '../support/served-bridge.js';
import { claimRun } from './claim-run.js';
import { livingRunProcesses, signalCommand, signalOfRun } from './processes.js';
import { readLog } from './read-log.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const LOST_AFTER_MS = 3_000;

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

async function newNats(): Promise<{ dir: string; nats: TestNats }> {
  const dir = temporaryDir();
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  const nats = await startNats();
  cleanUps.push(() => nats.stop());
  return { dir, nats };
}

/** A bridge that ends with the test. */
async function serve(dataDir: string, nats: TestNats): Promise<ServedBridge> {
  const config = [`lost_after: ${LOST_AFTER_MS}ms`];
  const bridge = await serveBridge({ dataDir, config, args: ['--nats-url', nats.url] });
  cleanUps.push(() => {
    bridge.signal('SIGCONT');
    return bridge.kill('SIGTERM');
  });
  return bridge;
}

function client({ address }: ServedBridge): BridgeClient {
  const connected = connectBridge(address);
  cleanUps.push(() => connected.close());
  return connected;
}

describe('what the random kills found', () => {
  it('a run that ended under a cancel while its bridge was dead is CANCELLED', async () => {
    const { dir, nats } = await newNats();
    const before = await serve(dir, nats);
    const runId = uuidv7();
    const dieLate = "trap 'sleep 0.3; trap - INT; kill -INT $$' INT";
    const prompt = `${dieLate}\necho '${HEADER}'\nwhile :; do sleep 0.05; done`;
    const first = client(before);
    await first.startRun({ runId, profile: 'sh', prompt });
    const target = { case: 'runId' as const, value: runId };
    for await (const { event } of first.subscribe({ target })) {
      if (event.payload.case === 'hepHeader') break;
    }
    await first.cancelRun({ runId, requestId: uuidv4() });
    for await (const { event } of first.subscribe({ target })) {
      if (event.payload.case === 'cancelSignalled') break;
    }
    await before.kill('SIGKILL');
    await expect.poll(() => livingRunProcesses().get(runId), { timeout: 5_000 }).toBeUndefined();
    const second = client(await serve(dir, nats));
    const finished = (await eventsOf(second, runId)).at(-1)?.event.payload;
    expect(finished?.value).toMatchObject({ signal: 'SIGINT' });
    expect(verdictOf(await second.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('a start that is answered is not taken back', async () => {
    const { dir, nats } = await newNats();
    const dead = await serve(join(dir, 'a'), nats);
    const other = client(await serve(join(dir, 'b'), nats));
    const runId = uuidv7();
    const request = { runId, profile: 'sh', prompt: `echo '${HEADER}'` };
    // One that was killed behind the claim and before the first event leaves just this.
    const probe = await client(dead).startRun({ ...request, runId: uuidv7() });
    await dead.kill('SIGKILL');
    await claimRun(nats, {
      ...request,
      ownerId: probe.run?.ownerId ?? '',
      requestHash: startRequestHash(create(StartRunRequestSchema, request)),
    });

    const answer = await other.startRun(request).then(
      () => 'started',
      (thrown) => toBridgeError(thrown).code,
    );
    await serve(join(dir, 'a'), nats);
    await delay(2_000);
    const isInLog = (await readLog(nats.url)).has(runId);
    expect({ answer, isInLog }).not.toEqual({ answer: 'started', isInLog: false });
  }, 20_000);

  it('a claim whose start was cut goes when its bridge is back, however soon', async () => {
    const { dir, nats } = await newNats();
    const dead = await serve(join(dir, 'a'), nats);
    const other = client(await serve(join(dir, 'b'), nats));
    const runId = uuidv7();
    const request = { runId, profile: 'sh', prompt: `echo '${HEADER}'` };
    const probe = await client(dead).startRun({ ...request, runId: uuidv7() });
    await dead.kill('SIGKILL');
    // At the begin of a second: the bridge is back within the same one, or a little later.
    await delay(1_000 - (Date.now() % 1_000));
    await claimRun(nats, {
      ...request,
      ownerId: probe.run?.ownerId ?? '',
      requestHash: startRequestHash(create(StartRunRequestSchema, request)),
    });
    await serve(join(dir, 'a'), nats);
    await delay(LOST_AFTER_MS);
    await expect(other.getRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  }, 20_000);

  it('a bridge that stood still for a moment while NATS was started again is not lost', async () => {
    const { dir, nats } = await newNats();
    const stalled = await serve(join(dir, 'a'), nats);
    const watcher = client(await serve(join(dir, 'b'), nats));
    const runId = uuidv7();
    await client(stalled).startRun({ runId, profile: 'sh', prompt: `echo '${HEADER}'\nsleep 30` });
    stalled.signal('SIGSTOP');
    await nats.kill9AndRestart();
    await delay(500);
    stalled.signal('SIGCONT');
    await delay(LOST_AFTER_MS + 2_000);
    const run = await watcher.getRun(runId);
    expect(Run_State[run.state]).toBe('RUNNING');
  }, 20_000);

  it('a bridge that may be taken for lost takes no new run before its heartbeat', async () => {
    const { dir, nats } = await newNats();
    const stalled = await serve(join(dir, 'a'), nats);
    const watcher = client(await serve(join(dir, 'b'), nats));
    const starter = client(stalled);
    const prompt = `echo '${HEADER}'\nsleep 30`;
    await starter.startRun({ runId: uuidv7(), profile: 'sh', prompt });
    stalled.signal('SIGSTOP');
    await nats.kill9AndRestart();
    // It wakes up just before it is lost, and its first heartbeat goes to the connection that is gone.
    await delay(LOST_AFTER_MS - 250);
    stalled.signal('SIGCONT');
    // By now it has found out, and has a new connection.
    await delay(100);
    const runId = uuidv7();
    for (let isStarted = false; !isStarted; ) {
      isStarted = await starter.startRun({ runId, profile: 'sh', prompt }).then(
        () => true,
        () => false,
      );
      await delay(20);
    }
    await delay(LOST_AFTER_MS);
    const run = await watcher.getRun(runId);
    expect(Run_State[run.state]).toBe('RUNNING');
  }, 20_000);

  it('a run whose agent cannot be started, for want of a keeper, ends', async () => {
    const { dir, nats } = await newNats();
    const starter = client(await serve(dir, nats));
    await starter.startRun({ profile: 'sh', prompt: `echo '${HEADER}'` });
    expect(killKeeper(dir)).toBe(true);
    rmSync(join(dir, 'keeper.log'));
    mkdirSync(join(dir, 'keeper.log'));
    const runId = uuidv7();
    const request = { runId, profile: 'sh', prompt: `echo '${HEADER}'` };
    const failure: unknown = await starter.startRun(request).catch((thrown) => thrown);
    // Either it never came to be, or it is over.
    const state = await starter.getRun(runId).then(
      (run) => Run_State[run.state],
      (thrown) => toBridgeError(thrown).code,
    );
    expect({ failure, state }).toMatchObject({
      state: expect.stringMatching(/^(FINISHED|RUN_NOT_FOUND)$/),
    });
  });

  it('what an agent left in its group goes with a lost run, though its keeper is dead', async () => {
    const { dir, nats } = await newNats();
    const dead = await serve(join(dir, 'a'), nats);
    const watcher = client(await serve(join(dir, 'b'), nats));
    const runId = uuidv7();
    const prompt = `echo '${HEADER}'\nsleep 60 &\nsleep 60`;
    await client(dead).startRun({ runId, profile: 'sh', prompt });
    const target = { case: 'runId' as const, value: runId };
    for await (const { event } of watcher.subscribe({ target })) {
      if (event.payload.case === 'hepHeader') break;
    }
    await expect.poll(() => livingRunProcesses().get(runId)).toHaveLength(3);
    await dead.kill('SIGKILL');
    expect(killKeeper(join(dir, 'a'))).toBe(true);
    const processes = livingRunProcesses().get(runId) ?? [];
    const agent = processes.find(({ pid, processGroup }) => pid === processGroup);
    cleanUps.push(() => {
      for (const { pid } of processes) signalOfRun(runId, pid, 'SIGKILL');
    });
    expect(signalOfRun(runId, agent?.pid ?? 0, 'SIGKILL')).toBe(true);
    await eventsOf(watcher, runId);
    expect(verdictOf(await watcher.getRun(runId))).toBe('LOST / OWNER_GONE');
    await serve(join(dir, 'a'), nats);
    await expect.poll(() => livingRunProcesses().get(runId), { timeout: 3_000 }).toBeUndefined();
  }, 20_000);
});

function killKeeper(dataDir: string): boolean {
  const { pid } = JSON.parse(readFileSync(join(dataDir, 'keeper.json'), 'utf8')) as { pid: number };
  return signalCommand(pid, ['--data-dir', dataDir], 'SIGKILL');
}
