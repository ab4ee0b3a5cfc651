import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, it } from 'vitest';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { eventsOf, kindsOf, temporaryDir, verdictOf } from '../support/gateway.js';
import { startNats } from '../support/nats.js';
import { type ServedBridge, serveBridge } from '../support/served-bridge.js';
import { livingRunProcesses } from './processes.js';
import { readLog } from './read-log.js';

const LOST_AFTER_MS = 2_000;
const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
/** Obeys SIGINT after a while, and goes on writing until then. */
const SLOW_WRITER = [
  "trap 'isOver=1' INT",
  `echo '${HEADER}'`,
  `while [ -z "$isOver" ]; do echo '${DELTA}'; sleep 0.1; done`,
  'exit 130',
].join('\n');

/** Says nothing more, so that no late event meets the fence. */
const SILENT = `echo '${HEADER}'\nfor i in 1 2 3 4 5; do echo '${DELTA}'; done\nexec sleep 60`;

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** Two bridges on one nats-server, all of which end with the test. */
async function serveTwo(): Promise<{ natsUrl: string; bridges: readonly ServedBridge[] }> {
  const dir = temporaryDir();
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  const nats = await startNats();
  cleanUps.push(() => nats.stop());
  const bridges = [];
  for (const name of ['a', 'b']) {
    const config = [`lost_after: ${LOST_AFTER_MS}ms`];
    const args = ['--nats-url', nats.url];
    const bridge = await serveBridge({ dataDir: join(dir, name), config, args });
    cleanUps.push(async () => {
      bridge.signal('SIGCONT');
      await bridge.kill('SIGTERM');
    });
    bridges.push(bridge);
  }
  return { natsUrl: nats.url, bridges };
}

it.each([
  { agent: 'writes on', prompt: SLOW_WRITER },
  { agent: 'is silent', prompt: SILENT },
])(
  'an owner that stood still for too long notices, and stops its agent, which $agent',
  async ({ prompt }) => {
    const { natsUrl, bridges } = await serveTwo();
    const [stalled, watcher] = bridges;
    if (stalled === undefined || watcher === undefined) throw new Error('no bridges');
    const atStalled = connectBridge(stalled.address);
    const atWatcher = connectBridge(watcher.address);
    cleanUps.push(
      () => atStalled.close(),
      () => atWatcher.close(),
    );
    const runId = uuidv7();
    await atStalled.startRun({ runId, profile: 'sh', prompt });
    const target = { case: 'runId' as const, value: runId };
    for await (const { sequence } of atWatcher.subscribe({ target })) if (sequence > 5) break;

    stalled.signal('SIGSTOP');
    const events = await eventsOf(atWatcher, runId);
    const finished = events.at(-1)?.event.payload;
    expect(finished?.value).toMatchObject({ synthetic: true });
    const run = await atWatcher.getRun(runId);
    expect(verdictOf(run)).toBe('LOST / OWNER_GONE');
    expect(run.detail).toContain(`silent for ${LOST_AFTER_MS} ms`);
    // Its agent writes on, into the spool of a bridge that knows nothing of all this.
    await delay(500);
    expect(livingRunProcesses().get(runId)).toBeDefined();

    stalled.signal('SIGCONT');
    await expect.poll(() => stalled.log(), { timeout: 5_000 }).toMatch(/run lost/);
    const lost = stalled
      .log()
      .split('\n')
      .find((line) => line.includes('run lost'));
    expect(JSON.parse(lost ?? '')).toMatchObject({ run_id: runId, code: 'FENCED' });
    await expect.poll(() => livingRunProcesses().get(runId), { timeout: 3_000 }).toBeUndefined();

    const logged = (await readLog(natsUrl)).get(runId)?.events ?? [];
    expect(kindsOf(logged)).toEqual(kindsOf(events));
    expect(kindsOf(logged).filter((kind) => kind === 'runFinished')).toHaveLength(1);
    expect(await atStalled.getRun(runId)).toEqual(run);
  },
  30_000,
);
