import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, it } from 'vitest';
import { type IngestRequest, IngestRequestSchema } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { ingestRequestHash } from '../../src/control/request-hash.js';
import { toBridgeError } from '../../src/errors.js';
import { temporaryDir, verdictOf } from '../support/gateway.js';
import { ingestBytes } from '../support/ingest-bytes.js';
import { startNats } from '../support/nats.js';
import { type ServedBridge, serveBridge } from '../support/served-bridge.js';
import { claimRun } from './claim-run.js';
import { startHoldingProxy } from './holding-proxy.js';
import { livingRunProcesses, signalOfRun } from './processes.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const LOST_AFTER_MS = 2_000;
const FIRST_EVENT = 'PUB hep.event.v1.default';

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** Two bridges, of which what the first one sends to NATS can be held. */
async function serveTwo() {
  const dir = temporaryDir();
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  const nats = await startNats();
  cleanUps.push(() => nats.stop());
  const proxy = await startHoldingProxy(nats.port);
  cleanUps.push(() => proxy[Symbol.asyncDispose]());
  const slow = await serve(join(dir, 'a'), proxy.url);
  const other = await serve(join(dir, 'b'), nats.url);
  const starter = connectBridge(slow.address);
  const watcher = connectBridge(other.address);
  cleanUps.push(
    () => starter.close(),
    () => watcher.close(),
  );
  return { dir, nats, proxy, slow, other, starter, watcher };
}

async function serve(dataDir: string, natsUrl: string): Promise<ServedBridge> {
  const config = [`lost_after: ${LOST_AFTER_MS}ms`, 'reconnect_window: 1s'];
  const bridge = await serveBridge({ dataDir, config, args: ['--nats-url', natsUrl] });
  cleanUps.push(() => bridge.kill('SIGKILL'));
  return bridge;
}

it('a run whose first event came late, after its owner was lost, is known and ends', async () => {
  const { proxy, slow, other, starter, watcher } = await serveTwo();
  const runId = uuidv7();
  cleanUps.push(() => {
    for (const { pid } of livingRunProcesses().get(runId) ?? []) signalOfRun(runId, pid, 'SIGKILL');
  });

  // The claim is there; the first event is on its way while the owner is taken for lost.
  const held = proxy.holdFrom(FIRST_EVENT);
  const starting = starter.startRun({ runId, profile: 'sh', prompt: `echo '${HEADER}'\nsleep 60` });
  await held;
  await expect.poll(() => other.log(), { timeout: 10_000 }).toContain('its runs are over');
  proxy.release();
  await starting;

  const listed = await watcher.listRuns({});
  expect(listed.runs.map((run) => run.runId)).toContain(runId);
  await slow.kill('SIGKILL');
  await expect
    .poll(async () => Run_State[(await watcher.getRun(runId)).state], { timeout: 8_000 })
    .toBe('FINISHED');
  expect(verdictOf(await watcher.getRun(runId))).toBe('LOST / OWNER_GONE');
}, 30_000);

it('a first owner that comes too late leaves the record of the run to the one that has it', async () => {
  const { proxy, starter, watcher } = await serveTwo();
  const runId = uuidv7();
  const held = proxy.holdFrom(FIRST_EVENT);
  const cut = new AbortController();
  const open = create(IngestRequestSchema, { message: { case: 'open', value: { runId } } });
  async function* openAlone(): AsyncGenerator<IngestRequest> {
    yield open;
    await held;
    cut.abort();
  }
  const first = starter.ingest(openAlone(), { signal: cut.signal })[Symbol.asyncIterator]();
  await expect(first.next()).rejects.toThrow();
  // The client went on with the other bridge, which begins the run.
  const stdout = Buffer.from(`${HEADER}\n`);
  await ingestBytes(watcher, { runId, stdout, leave: true });
  expect(Run_State[(await watcher.getRun(runId)).state]).toBe('RUNNING');
  proxy.release();
  await delay(1_000);
  // Asked at the other bridge: the one that has the run knows it anyhow.
  expect(Run_State[(await starter.getRun(runId)).state]).toBe('RUNNING');
  const { runs } = await starter.listRuns({});
  expect(runs.map((run) => run.runId)).toContain(runId);
}, 30_000);

it('a bridge that has just started does not end the run of a client that comes to it', async () => {
  const { dir, proxy, slow, other, watcher } = await serveTwo();
  const runId = uuidv7();
  const stdout = Buffer.from(`${HEADER}\n${HEADER}\n`);
  await ingestBytes(watcher, { runId, stdout: stdout.subarray(0, HEADER.length + 1), leave: true });
  await slow.kill('SIGKILL');
  // Asked to let the run go, the owner does not answer: the client is between two bridges for a while.
  other.signal('SIGSTOP');
  cleanUps.push(() => other.signal('SIGCONT'));
  const looking = proxy.holdOne('multi_last');
  const restarted = await serve(join(dir, 'a'), proxy.url);
  const next = connectBridge(restarted.address);
  cleanUps.push(() => next.close());
  await looking;
  const ending = ingestBytes(next, { runId, stdout, exitCode: 0 });
  await delay(300);
  proxy.release();
  const run = await ending;
  expect(run.detail).toBe('exit 0; no terminal frame');
  expect(verdictOf(run)).toBe('INCOMPLETE / NO_TERMINAL');
}, 30_000);

it('a run whose take-over failed, and whose client gave up, is not left in the hands of nobody', async () => {
  const { nats, proxy, slow, starter, watcher } = await serveTwo();
  const runId = uuidv7();
  await claimRun(nats, { runId, ownerId: 'gone', profile: '', requestHash: ingestRequestHash() });
  const reading = proxy.holdOne('STREAM.MSG.GET.HEP ');
  const failing = ingestBytes(starter, { runId, stdout: Buffer.from(`${HEADER}\n`), exitCode: 0 });
  await reading;
  await expect(failing).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
  proxy.release();
  expect(slow.log()).toContain('taking over a run');
  await expect
    .poll(async () => await watcher.getRun(runId).catch((thrown) => toBridgeError(thrown).code), {
      timeout: 8_000,
    })
    .toBe('RUN_NOT_FOUND');
}, 30_000);
