import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import type { BridgeClient } from '../src/client/bridge-client.js';
import { isDead, readProcStat } from '../src/ingest/child/proc-stat.js';
import {
  eventsOf,
  kindsOf,
  openTestGateway,
  rebuildSource,
  type TestGateway,
  verdictOf,
} from './support/gateway.js';
import { ingestBytes } from './support/ingest-bytes.js';
import { untilHandlesInterrupt } from './support/signal-handler.js';

let bridge: TestGateway;
let client: BridgeClient;

beforeAll(async () => {
  bridge = await openTestGateway();
  ({ client } = bridge);
});

afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

async function start(profile: string, prompt = ''): Promise<string> {
  const runId = uuidv7();
  const { existed } = await client.startRun({ runId, profile, prompt });
  expect(existed).toBe(false);
  return runId;
}

async function cancel(runId: string, requestId = uuidv4()): Promise<bigint> {
  const { requestedSequence } = await client.cancelRun({ runId, requestId, reason: 'test' });
  return requestedSequence;
}

/** Waits until the run has an event of this kind. */
async function untilEvent(runId: string, kind: string): Promise<void> {
  const request = { target: { case: 'runId' as const, value: runId } };
  for await (const { event } of client.subscribe(request)) {
    if (event.payload.case === kind) return;
  }
  throw new Error(`run ${runId} ended without ${kind}`);
}

const FRAMES_OF_A_ROUND = ['runStarted', 'hepHeader', 'agentStart', 'turnDone', 'runFinished'];

describe('a child from a profile', () => {
  it('is drained to its last frame though it is gone before it is read (c01)', async () => {
    const events = await eventsOf(client, await start('c01'));
    expect(events).toHaveLength(905);
    expect(events.at(-2)?.event.payload.case).toBe('turnDone');
  });

  it('finishes though a grandchild holds its stdout, which is killed and counted (c02)', async () => {
    const startedMs = Date.now();
    const runId = await start('c02');
    const events = await eventsOf(client, runId);
    expect(kindsOf(events)).toEqual(FRAMES_OF_A_ROUND);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 0, leftoverProcesses: 1 });
    expect(Date.now() - startedMs).toBeLessThan(2_000);
  });

  it('has its stderr drained, kept as chunks and as a bounded tail (c05)', async () => {
    const events = await eventsOf(client, await start('c05'));
    const frames = kindsOf(events).filter((kind) => kind !== 'stderrChunk');
    expect(frames).toEqual(FRAMES_OF_A_ROUND);
    const bytes = events.reduce((sum, { event: { payload } }) => {
      return sum + (payload.case === 'stderrChunk' ? payload.value.data.length : 0);
    }, 0);
    expect(bytes).toBe(1_048_576);
    const finished = events.at(-1)?.event.payload;
    expect(finished?.case === 'runFinished' && finished.value.stderrTail.length).toBe(8_192);
  });

  it('fails with its exit code and the end of its stderr (c08)', async () => {
    const runId = await start('c08', 'x'.repeat(1_000_000));
    const events = await eventsOf(client, runId);
    const finished = events.at(-1)?.event.payload;
    if (finished?.case !== 'runFinished') throw new Error('no RunFinished');
    expect(finished.value.exitCode).toBe(7);
    expect(Buffer.from(finished.value.stderrTail).toString()).toBe('auth failed\n');
    expect(verdictOf(await client.getRun(runId))).toBe('FAILED / EXIT_CODE');
  });

  it('that ignores INT and TERM is killed after the graces, with its last frames kept (c09)', async () => {
    const runId = await start('c09');
    await untilEvent(runId, 'messageDelta');
    expect(await cancel(runId)).toBeGreaterThan(0n);
    const events = await eventsOf(client, runId);
    const signals = events.flatMap(({ event: { payload } }) =>
      payload.case === 'cancelSignalled' ? [payload.value.signal] : [],
    );
    expect(signals).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL']);
    expect(kindsOf(events)).not.toContain('cancelled');
    expect(events.at(-1)?.event.payload.value).toMatchObject({ signal: 'SIGKILL' });
    expect(verdictOf(await client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('gets exactly one SIGINT from two cancels at once (c11)', async () => {
    const runId = await start('c11');
    await untilEvent(runId, 'agentStart');
    await untilHandlesInterrupt(bridge.dataDir, runId);
    await Promise.all([cancel(runId), cancel(runId)]);
    const events = await eventsOf(client, runId);
    const kinds = kindsOf(events);
    expect(kinds.filter((kind) => kind === 'cancelRequested')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'cancelSignalled')).toHaveLength(1);
    expect(kinds).toContain('cancelled');
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 130 });
  });

  it('is ended with its tree, and what left its group is reported (c12)', async () => {
    const runId = await start('c12');
    await untilEvent(runId, 'toolDelta');
    await cancel(runId);
    const events = await eventsOf(client, runId);
    const finished = events.at(-1)?.event.payload;
    if (finished?.case !== 'runFinished') throw new Error('no RunFinished');
    expect(finished.value.leftoverProcesses).toBeGreaterThan(0);
    expect(finished.value.detail).toContain('left its group');
    const pids = events.flatMap(({ event: { payload } }) =>
      payload.case === 'toolDelta' ? payload.value.update.split(' ').map(Number) : [],
    );
    process.kill(pids[2] ?? 0, 'SIGKILL');
    for (const pid of pids.slice(0, 2)) {
      const stat = readProcStat(pid);
      expect(stat === undefined || isDead(stat)).toBe(true);
    }
  });

  it('that cannot be started ends as FAILED / SPAWN and names the command', async () => {
    const runId = await start('missing');
    const events = await eventsOf(client, runId);
    expect(kindsOf(events)).toEqual(['runStarted', 'runFinished']);
    expect(events[1]?.event.payload.value).toMatchObject({
      detail: expect.stringContaining('/no/such/agent') as string,
    });
    expect(verdictOf(await client.getRun(runId))).toBe('FAILED / SPAWN');
  });

  it('killed from outside ends as INCOMPLETE / CRASHED', async () => {
    const runId = await start(
      'sh',
      'echo \'{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\'; kill -9 $$',
    );
    await eventsOf(client, runId);
    expect(verdictOf(await client.getRun(runId))).toBe('INCOMPLETE / CRASHED');
  });

  it('that closes stdout and lives on is followed to its exit', async () => {
    const runId = await start('sh', 'exec >&-; sleep 0.3; exit 64');
    await eventsOf(client, runId);
    expect(verdictOf(await client.getRun(runId))).toBe('FAILED / USAGE');
  });

  it('with a refused header is stopped, and nothing of it is published', async () => {
    const runId = await start('sh', 'echo \'{"type":"hep_header","hep":"v2"}\'; exec sleep 60');
    const events = await eventsOf(client, runId);
    expect(kindsOf(events)).toEqual(['runStarted', 'runFinished']);
    expect(verdictOf(await client.getRun(runId))).toBe('REFUSED / HEADER_UNSUPPORTED');
  });

  it('leaves no spool behind', async () => {
    await eventsOf(client, await start('c02'));
    const spool = join(bridge.dataDir, 'spool');
    await expect.poll(() => (existsSync(spool) ? readdirSync(spool) : [])).toEqual([]);
  });
});

describe('StartRun and CancelRun', () => {
  it('give the same run for the same id and request, and refuse another request', async () => {
    const request = { runId: uuidv7(), profile: 'c02', labels: { team: 'a' } };
    const [first, second] = await Promise.all([client.startRun(request), client.startRun(request)]);
    expect([first?.existed, second?.existed].sort()).toEqual([false, true]);
    await expect(client.startRun({ ...request, labels: {} })).rejects.toMatchObject({
      code: 'RUN_EXISTS',
    });
    await eventsOf(client, request.runId);
    expect((await client.startRun(request)).existed).toBe(true);
  });

  it('name what is wrong', async () => {
    await expect(client.startRun({ profile: 'nope' })).rejects.toMatchObject({
      code: 'PROFILE_NOT_FOUND',
    });
    await expect(client.startRun({ profile: 'c02', runId: 'x' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
    await expect(client.startRun({ profile: 'c02', labels: { 'a*b': '' } })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
    await expect(client.getRun(uuidv7())).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(cancel(uuidv7())).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(cancel(uuidv7(), 'x')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('answer the same to the same cancel request, and OK to one after the end', async () => {
    const runId = await start('c11');
    await untilEvent(runId, 'agentStart');
    await untilHandlesInterrupt(bridge.dataDir, runId);
    const requestId = uuidv4();
    const sequence = await cancel(runId, requestId);
    expect(await cancel(runId, requestId)).toBe(sequence);
    await eventsOf(client, runId);
    expect(await cancel(runId)).toBe(0n);
  });

  it('end a run at its deadline with cause DEADLINE', async () => {
    const runId = uuidv7();
    await client.startRun({ runId, profile: 'c11', deadline: { seconds: 1n, nanos: 0 } });
    const events = await eventsOf(client, runId);
    const request = events.find(({ event }) => event.payload.case === 'cancelRequested');
    expect(request?.event.payload.value).toMatchObject({ cause: 2 });
    expect(verdictOf(await client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });
});

const golden = new URL('golden/streams/', import.meta.url);
const shared = new URL('../../shared/cases/', import.meta.url);
const streams = [golden, shared]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder)))
  .filter(({ pathname }) => pathname.endsWith('.jsonl'));

describe('Ingest', () => {
  it.each(streams)('brings %s through the whole product byte for byte', async (url) => {
    const source = readFileSync(url);
    const runId = uuidv7();
    const run = await ingestBytes(client, { runId, stdout: source, exitCode: 0 });
    expect(run.state).toBe(Run_State.FINISHED);
    const events = await eventsOf(client, runId);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    if (/\/16(a|b|g)-/.test(url.pathname)) {
      expect(kindsOf(events)).toEqual(['runStarted', 'runFinished']);
    } else {
      expect(rebuildSource(events).equals(source)).toBe(true);
    }
  });

  it.each([524_289, 1_048_576, 4_194_305, 20_000_000])(
    'carries a line of %s bytes, or says that it is over the limit',
    async (bytes) => {
      const head = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\n';
      const empty = '{"type":"message_delta","turn_id":1,"delta":""}';
      const line = `${empty.slice(0, -2)}${'x'.repeat(bytes - empty.length)}"}`;
      const source = Buffer.from(`${head}${line}\n${empty}\n`);
      const runId = uuidv7();
      await ingestBytes(client, { runId, stdout: source, exitCode: 0 });
      const events = await eventsOf(client, runId);
      if (bytes > 16 * 1_048_576) expect(events[2]?.event.payload.case).toBe('oversizeLine');
      else expect(rebuildSource(events).equals(source)).toBe(true);
      expect(events).toHaveLength(5);
    },
  );

  it('ends a run whose client stays away for the reconnect window as LOST', async () => {
    await using short = await openTestGateway({ reconnectWindowMs: 200 });
    const runId = uuidv7();
    const stdout = readFileSync(new URL('01-happy.jsonl', golden));
    await ingestBytes(short.client, { runId, stdout, leave: true });
    await eventsOf(short.client, runId);
    expect(verdictOf(await short.client.getRun(runId))).toBe('LOST / OWNER_GONE');
  });

  it('goes on at the offset that a reopened call is told', async () => {
    const runId = uuidv7();
    const stdout = readFileSync(new URL('01-happy.jsonl', golden));
    await ingestBytes(client, { runId, stdout: stdout.subarray(0, 200), leave: true });
    await ingestBytes(client, { runId, stdout, exitCode: 0 });
    expect(rebuildSource(await eventsOf(client, runId)).equals(stdout)).toBe(true);
  });
});

describe('ListRuns', () => {
  it('pages newest first, by state, label and time', async () => {
    const team = uuidv4();
    const runIds: string[] = [];
    for (let i = 0; i < 7; i += 1) {
      const runId = uuidv7();
      await client.startRun({ runId, profile: 'c02', labels: { team } });
      runIds.unshift(runId);
    }
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await client.listRuns({ labels: { team }, pageSize: 3, pageToken });
      expect(page.runs.length).toBeLessThanOrEqual(3);
      listed.push(...page.runs.map((run) => run.runId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).toEqual(runIds);
    for (const runId of runIds) await eventsOf(client, runId);
    const states = [Run_State.RUNNING];
    expect((await client.listRuns({ labels: { team }, states })).runs).toEqual([]);
    const createdUntil = { seconds: 1n, nanos: 0 };
    expect((await client.listRuns({ labels: { team }, createdUntil })).runs).toEqual([]);
  });
});
