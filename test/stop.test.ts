import { rmSync } from 'node:fs';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterEach, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import type { BridgeClient } from '../src/client/bridge-client.js';
import { type Gateway, startGateway } from '../src/gateway.js';
import {
  eventsOf,
  kindsOf,
  openTestGateway,
  quietLogger,
  TEST_OPTIONS,
  temporaryDir,
  verdictOf,
} from './support/gateway.js';
import { startNats } from './support/nats.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}';

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

async function start(client: BridgeClient, ...script: readonly string[]): Promise<string> {
  const runId = uuidv7();
  const prompt = [`echo '${HEADER}'`, ...script].join('\n');
  await client.startRun({ runId, profile: 'sh', prompt });
  return runId;
}

/** Notices and the end of one Subscribe call. */
async function subscription(client: BridgeClient, runId: string): Promise<readonly string[]> {
  const seen: string[] = [];
  try {
    const request = { target: { case: 'runId' as const, value: runId } };
    for await (const { notice } of client.subscribeOnce(request)) {
      if (notice.case !== undefined) seen.push(notice.case);
    }
    seen.push('OK');
  } catch (thrown) {
    seen.push((thrown as { code?: string }).code ?? String(thrown));
  }
  return seen;
}

describe('a gateway that drains', () => {
  it('takes no new runs, serves the live ones to their ends, and then goes', async () => {
    await using bridge = await openTestGateway({ onStop: 'drain', drainLimitMs: 20_000 });
    const { client, gateway } = bridge;
    const runId = await start(client, `sleep 1; echo '${DONE}'`);
    const watched = eventsOf(client, runId);
    const closing = gateway.close();
    const refused = client.startRun({ runId: uuidv7(), profile: 'sh', prompt: 'true' });
    await expect(refused).rejects.toMatchObject({ code: 'DRAINING' });
    expect(kindsOf(await watched).at(-1)).toBe('runFinished');
    await closing;
  });

  it('cancels what is left at the limit, and tells its subscribers to come back', async () => {
    const nats = await startNats();
    cleanUps.push(() => nats.stop());
    const options = { nats: { url: nats.url }, onStop: 'drain' as const, drainLimitMs: 300 };
    await using other = await openTestGateway({ nats: { url: nats.url } });
    const bridge = await openTestGateway(options);
    cleanUps.push(() => bridge[Symbol.asyncDispose]());
    const { client, gateway } = bridge;
    const ownRun = await start(client, `trap 'exit 130' INT; while :; do sleep 0.02; done`);
    const foreign = await start(other.client, 'while :; do sleep 0.02; done');
    const seen = subscription(client, foreign);
    await gateway.close();
    expect((await seen).slice(-2)).toEqual(['draining', 'DRAINING']);
    const run = await other.client.getRun(ownRun);
    expect(verdictOf(run)).toBe('CANCELLED / CANCEL_SIGNALLED');
    expect(run.cancelCause).toBe(CancelCause.SHUTDOWN);
    expect(run.detail).toContain('asked for by bridge: the bridge is shutting down');
    await other.client.cancelRun({ runId: foreign, requestId: uuidv4(), force: true });
  });
});

describe('a gateway that hands over', () => {
  it('leaves its agents, and the next one on the directory goes on with them', async () => {
    const dataDir = temporaryDir();
    cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const first = await openTestGateway({ dataDir, onStop: 'leave' });
    const runId = await start(first.client, `sleep 1; echo '${DONE}'`, 'exit 0');
    await first.client.close();
    await first.gateway.close();
    await using next = await openTestGateway({ dataDir });
    await eventsOf(next.client, runId);
    expect(verdictOf(await next.client.getRun(runId))).toBe('COMPLETED / TURN_DONE');
  });
});

describe('a gateway that is stopped while it starts', () => {
  it('ends the start and lets go of its directory', async () => {
    const dataDir = temporaryDir();
    cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const options = { ...TEST_OPTIONS, profiles: {}, dataDir };
    const abort = new AbortController();
    const starting = startGateway(options, quietLogger, abort.signal);
    abort.abort();
    await expect(starting).rejects.toMatchObject({ code: 'DRAINING' });
    const gateway: Gateway = await startGateway(options, quietLogger);
    await gateway.close();
  });
});

describe('a start that finds many runs', () => {
  it('is ready within seconds with 200 of them in the spool, and goes on with each', async () => {
    const dataDir = temporaryDir();
    cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const first = await openTestGateway({ dataDir, onStop: 'leave' });
    const runs = await Promise.all(
      Array.from({ length: 200 }, () =>
        start(first.client, `while [ ! -e ${dataDir}/go ]; do sleep 1; done; echo '${DONE}'`),
      ),
    );
    await first.client.close();
    await first.gateway.close();
    const beforeMs = performance.now();
    await using next = await openTestGateway({ dataDir });
    console.log(
      `ready after ${Math.round(performance.now() - beforeMs)} ms with 200 runs in the spool`,
    );
    const { runs: listed } = await next.client.listRuns({
      states: [Run_State.RUNNING],
      pageSize: 500,
    });
    expect(new Set(listed.map(({ runId }) => runId))).toEqual(new Set(runs));
    const wait = durationFromMs(30_000);
    const ends = await Promise.all(
      runs.map((runId) =>
        next.client.cancelRun(
          { runId, requestId: uuidv4(), force: true, wait },
          { timeoutMs: 40_000 },
        ),
      ),
    );
    expect(ends.filter(({ run }) => run?.state !== Run_State.FINISHED)).toEqual([]);
  }, 90_000);
});
