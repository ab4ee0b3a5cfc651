import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { connect } from '@nats-io/transport-node';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import {
  CancelRunRequestSchema,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import {
  eventsOf,
  kindsOf,
  openTestGateway,
  profileOf,
  type TestGateway,
  verdictOf,
} from './support/gateway.js';
import { ingestBytes } from './support/ingest-bytes.js';
import { startNats, type TestNats } from './support/nats.js';
import { untilHandlesInterrupt } from './support/signal-handler.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\n';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}\n';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}\n';

let nats: TestNats;
let a: TestGateway;
let b: TestGateway;

beforeAll(async () => {
  nats = await startNats();
  const access = { url: nats.url };
  a = await openTestGateway({ nats: access });
  b = await openTestGateway({ nats: access });
});

afterAll(async () => {
  await a[Symbol.asyncDispose]();
  await b[Symbol.asyncDispose]();
  await nats.stop();
});

/** A polite agent of gateway A that handles SIGINT by now. */
async function startPolite(): Promise<string> {
  const runId = uuidv7();
  await a.client.startRun({ runId, profile: 'c11' });
  const events = a.client.subscribe({ target: { case: 'runId', value: runId } });
  for await (const { event } of events) if (event.payload.case === 'agentStart') break;
  await untilHandlesInterrupt(a.dataDir, runId);
  return runId;
}

describe('two gateways on one NATS', () => {
  it('both answer for the runs of each, with the owner and the last event', async () => {
    const runId = await startPolite();
    const [ofA, ofB] = [await a.client.getRun(runId), await b.client.getRun(runId)];
    expect(ofB).toEqual(ofA);
    expect(ofB).toMatchObject({ state: Run_State.RUNNING, profile: 'c11', session: 's1' });
    expect(ofB.ownerId).not.toBe('');
    expect(ofB.lastEventTime).toBeDefined();
    const listed = await b.client.listRuns({ states: [Run_State.RUNNING] });
    expect(listed.runs.find((run) => run.runId === runId)).toEqual(ofA);
    await b.client.cancelRun({ runId, requestId: uuidv4() });
    await eventsOf(b.client, runId);
    const ended = await b.client.getRun(runId);
    expect(ended).toEqual(await a.client.getRun(runId));
    expect(ended).toMatchObject({ cancelCause: CancelCause.CALLER, synthetic: false });
    expect(ended.detail).toContain('exit 130');
  });

  it('bring a cancel to the owner, once a request, whoever is asked', async () => {
    const runId = await startPolite();
    const requestId = uuidv4();
    const request = { runId, requestId, reason: 'enough' };
    const answers = await Promise.all([
      b.client.cancelRun(request),
      a.client.cancelRun(request),
      b.client.cancelRun(request),
    ]);
    const sequences = answers.map(({ requestedSequence }) => requestedSequence);
    expect(new Set(sequences).size).toBe(1);
    const events = await eventsOf(b.client, runId);
    expect(kindsOf(events).filter((kind) => kind === 'cancelRequested')).toHaveLength(1);
    expect(kindsOf(events).filter((kind) => kind === 'cancelSignalled')).toHaveLength(1);
    expect(verdictOf(await b.client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('wait for the end at the one that does not own the run', async () => {
    const runId = await startPolite();
    const waited = await b.client.cancelRun({
      runId,
      requestId: uuidv4(),
      wait: durationFromMs(20_000),
    });
    expect(waited.run?.state).toBe(Run_State.FINISHED);
    const again = await b.client.cancelRun({ runId, requestId: uuidv4() });
    expect(again.requestedSequence).toBe(0n);
    expect(again.run?.state).toBe(Run_State.FINISHED);
  });

  it('answer the same start at both with one run', async () => {
    const runId = uuidv7();
    const request = { runId, profile: 'sh', prompt: `printf '${HEADER.trim()}\\n'` };
    const starts = await Promise.all([a.client.startRun(request), b.client.startRun(request)]);
    expect(starts.filter(({ existed }) => !existed)).toHaveLength(1);
    const events = await eventsOf(a.client, runId);
    expect(kindsOf(events).filter((kind) => kind === 'runStarted')).toHaveLength(1);
    const other = b.client.startRun({ ...request, prompt: 'true' });
    await expect(other).rejects.toMatchObject({ code: 'RUN_EXISTS' });
  });
});

describe('a cancel by a NATS request', () => {
  it('is answered by any gateway, in JSON and in Protobuf', async () => {
    const connection = await connect({ servers: nats.url });
    try {
      const runId = await startPolite();
      const subject = 'hep.ctl.v1.cancel.default';
      const json = JSON.stringify({ runId, requestId: uuidv4(), reason: 'a worker' });
      const first = await connection.request(subject, json, { timeout: 5_000 });
      expect(first.json()).toMatchObject({ run: { runId } });
      const message = create(CancelRunRequestSchema, {
        runId,
        requestId: uuidv4(),
        wait: durationFromMs(10_000),
      });
      const body = toBinary(CancelRunRequestSchema, message);
      const second = await connection.request(subject, body, { timeout: 11_000 });
      const response = fromBinary(CancelRunResponseSchema, second.data);
      expect(response.run?.state).toBe(Run_State.FINISHED);
    } finally {
      await connection.close();
    }
  });

  it('fails with a status, a reason and words', async () => {
    const connection = await connect({ servers: nats.url });
    try {
      const ask = async (body: string, tenant = 'default'): Promise<unknown[]> => {
        const answer = await connection.request(`hep.ctl.v1.cancel.${tenant}`, body, {
          timeout: 5_000,
        });
        const { headers } = answer;
        return [headers?.get('Nats-Service-Error-Code'), headers?.get('Hep-Error-Reason')];
      };
      const runId = uuidv7();
      const unknown = JSON.stringify({ runId, requestId: uuidv4() });
      expect(await ask(unknown)).toEqual(['5', 'RUN_NOT_FOUND']);
      expect(await ask('{"runId":7}')).toEqual(['3', 'INVALID_REQUEST']);
      expect(await ask(JSON.stringify({ runId }))).toEqual(['3', 'INVALID_REQUEST']);
      expect(await ask('\u0001')).toEqual(['3', 'INVALID_REQUEST']);
      const owned = await startPolite();
      const foreign = JSON.stringify({ runId: owned, requestId: uuidv4() });
      expect(await ask(foreign, 'another')).toEqual(['5', 'RUN_NOT_FOUND']);
      await a.client.cancelRun({ runId: owned, requestId: uuidv4() });
      await eventsOf(a.client, owned);
    } finally {
      await connection.close();
    }
  });
});

describe("a client's run", () => {
  it('goes on at another gateway, from the committed offset, and its first owner is fenced', async () => {
    const runId = uuidv7();
    const stdout = Buffer.from(HEADER + DELTA.repeat(2_000) + DONE);
    await ingestBytes(a.client, { runId, stdout: stdout.subarray(0, 50_003), leave: true });
    const run = await ingestBytes(b.client, { runId, stdout, exitCode: 0 });
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    const events = await eventsOf(a.client, runId);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    expect(events).toHaveLength(2_004);
    expect(kindsOf(events).filter((kind) => kind === 'runFinished')).toHaveLength(1);
    const ofB = await b.client.getRun(runId);
    expect(await a.client.getRun(runId)).toEqual(ofB);
  });

  it('may come back to its first gateway', async () => {
    const runId = uuidv7();
    const stdout = Buffer.from(HEADER + DELTA.repeat(600) + DONE);
    await ingestBytes(a.client, { runId, stdout: stdout.subarray(0, 9_000), leave: true });
    await ingestBytes(b.client, { runId, stdout: stdout.subarray(0, 20_000), leave: true });
    const run = await ingestBytes(a.client, { runId, stdout, exitCode: 0 });
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    const events = await eventsOf(b.client, runId);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    expect(events).toHaveLength(604);
  });
});

describe('a gateway that is gone for good', () => {
  it('has its runs ended as LOST by another, and its cancels refused with how long it is silent', async () => {
    const short = { nats: { url: nats.url }, lostAfterMs: 2_000, onStop: 'leave' as const };
    await using watcher = await openTestGateway(short);
    const gone = await openTestGateway({
      ...short,
      profiles: { sh: profileOf(['sh', '{prompt_file}']) },
    });
    const runId = uuidv7();
    const prompt = `printf '${HEADER.trim()}\\n'; sleep 30`;
    await gone.client.startRun({ runId, profile: 'sh', prompt });
    for await (const { event } of watcher.client.subscribe({
      target: { case: 'runId', value: runId },
    })) {
      if (event.payload.case === 'hepHeader') break;
    }
    await gone.gateway.close();
    const requestId = uuidv4();
    const cancel = watcher.client.cancelRun({ runId, requestId });
    await expect(cancel).rejects.toMatchObject({ code: 'OWNER_UNREACHABLE' });
    await expect(cancel).rejects.toThrow(/does not answer.*silent for .* end as LOST/);
    const events = await eventsOf(watcher.client, runId);
    expect(kindsOf(events).filter((kind) => kind === 'runFinished')).toHaveLength(1);
    const last = events.at(-1)?.event.payload;
    expect(last?.value).toMatchObject({ synthetic: true });
    const run = await watcher.client.getRun(runId);
    expect(verdictOf(run)).toBe('LOST / OWNER_GONE');
    expect(run.detail).toContain('silent for 2000 ms');
    await gone[Symbol.asyncDispose]();
  }, 30_000);
});
