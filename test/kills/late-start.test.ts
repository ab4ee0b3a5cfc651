import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { temporaryDir, verdictOf } from '../support/gateway.js';
import { startNats } from '../support/nats.js';
import { type ServedBridge, serveBridge } from '../support/served-bridge.js';
import { startHoldingProxy } from './holding-proxy.js';
import { livingRunProcesses, signalOfRun } from './processes.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const LOST_AFTER_MS = 2_000;

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

async function serve(dataDir: string, natsUrl: string): Promise<ServedBridge> {
  const config = [`lost_after: ${LOST_AFTER_MS}ms`];
  const bridge = await serveBridge({ dataDir, config, args: ['--nats-url', natsUrl] });
  cleanUps.push(() => bridge.kill('SIGKILL'));
  return bridge;
}

it('a run whose first event came late, after its owner was lost, is known and ends', async () => {
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
  const runId = uuidv7();
  cleanUps.push(() => {
    for (const { pid } of livingRunProcesses().get(runId) ?? []) signalOfRun(runId, pid, 'SIGKILL');
  });

  // The claim is there; the first event is on its way while the owner is taken for lost.
  const held = proxy.holdFrom(`PUB hep.event.v1.default`);
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
