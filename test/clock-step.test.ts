import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { expect, it } from 'vitest';
import { connectBridge } from '../src/client/connect-bridge.js';
import { eventsOf, temporaryDir, verdictOf } from './support/gateway.js';
import { startNats } from './support/nats.js';
import { serveBridge } from './support/served-bridge.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}';
const SHIM = fileURLToPath(new URL('./support/clock-shim.mjs', import.meta.url));
const HOUR_MS = 3_600_000;

it('a clock that steps by an hour, forward and back, ends no run, loses no owner and breaks no order', async () => {
  await using nats = await startNats();
  const dirs = [temporaryDir(), temporaryDir()] as const;
  const env = { NODE_OPTIONS: `--import ${SHIM}`, HEP_CLOCK_STEP_MS: String(HOUR_MS) };
  const config = ['lost_after: 3s', 'reconnect_window: 3s'];
  const args = ['--nats-url', nats.url];
  const stepped = await serveBridge({ dataDir: dirs[0], config, args, env });
  const watcher = await serveBridge({ dataDir: dirs[1], config, args });
  await using client = connectBridge(stepped.address);
  await using other = connectBridge(watcher.address);
  try {
    const runId = uuidv7();
    const prompt = [
      `echo '${HEADER}'`,
      `i=0; while [ $i -lt 80 ]; do echo '${DELTA}'; sleep 0.1; i=$((i+1)); done`,
      `echo '${DONE}'`,
      'exit 0',
    ].join('\n');
    const policies = { stall: durationFromMs(60_000), headerWithin: durationFromMs(60_000) };
    const deadline = durationFromMs(600_000);
    await client.startRun({ runId, profile: 'sh', prompt, policies, deadline });
    const target = { case: 'runId' as const, value: runId };
    const times: number[] = [];
    for await (const { sequence, timeUs } of other.subscribe({ target })) {
      times.push(timeUs);
      if (sequence === 15 || sequence === 40) stepped.signal('SIGUSR2');
    }
    const sawHours = times.map((time) => Math.round((time / 1_000 - Date.now()) / HOUR_MS));
    expect(new Set(sawHours)).toEqual(new Set([0, 1, -1]));
    const events = await eventsOf(client, runId);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    expect(events).toHaveLength(84);
    expect(events.every(({ event }) => event.observeOffsetUs >= 0n)).toBe(true);
    const run = await other.getRun(runId);
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    expect(run.cancelRequested).toBe(false);
    // One that is created by the stepped clock can be cancelled and listed as any other.
    const late = uuidv7();
    await client.startRun({ runId: late, profile: 'sh', prompt: `echo '${HEADER}'; sleep 30` });
    const wait = durationFromMs(20_000);
    await other.cancelRun({ runId: late, requestId: uuidv4(), force: true, wait });
    expect((await other.listRuns({})).runs.map((listed) => listed.runId)).toEqual([late, runId]);
  } finally {
    await stepped.kill('SIGTERM');
    await watcher.kill('SIGTERM');
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  }
}, 60_000);
