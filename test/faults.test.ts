import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { connectBridge } from '../src/client/connect-bridge.js';
import { startGateway } from '../src/gateway.js';
import {
  eventsOf,
  openTestGateway,
  quietLogger,
  rebuildSource,
  TEST_OPTIONS,
  temporaryDir,
  verdictOf,
} from './support/gateway.js';
import { ingestBytes } from './support/ingest-bytes.js';
import { untilHandlesInterrupt } from './support/signal-handler.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}';

function serverPid(dataDir: string): number {
  const text = readFileSync(join(dataDir, 'nats-server.json'), 'utf8');
  return (JSON.parse(text) as { pid: number }).pid;
}

describe('a gateway whose private nats-server is killed', () => {
  it('loses and doubles nothing of a run and of its readers, and starts it again', async () => {
    await using bridge = await openTestGateway();
    const { client, dataDir } = bridge;
    const runId = uuidv7();
    const script = `echo '${HEADER}'; i=0; while [ $i -lt 600 ]; do echo '${DELTA}'; i=$((i+1)); sleep 0.005; done; echo '${DONE}'`;
    await client.startRun({ runId, profile: 'sh', prompt: script });
    const before = serverPid(dataDir);
    let kills = 0;
    const seen: number[] = [];
    const request = { target: { case: 'runId' as const, value: runId } };
    for await (const { sequence } of client.subscribe(request)) {
      seen.push(sequence);
      if (sequence === 100 || sequence === 300) {
        process.kill(serverPid(dataDir), 'SIGKILL');
        kills += 1;
      }
    }
    expect(kills).toBe(2);
    expect(serverPid(dataDir)).not.toBe(before);
    expect(seen).toEqual(Array.from({ length: 604 }, (_, at) => at + 1));
    const source = rebuildSource(await eventsOf(client, runId)).toString();
    expect(source).toBe(`${HEADER}\n${`${DELTA}\n`.repeat(600)}${DONE}\n`);
    expect(verdictOf(await client.getRun(runId))).toBe('COMPLETED / TURN_DONE');
  }, 60_000);

  it('answers a cancel that came meanwhile, with its one signal sent at once', async () => {
    await using bridge = await openTestGateway();
    const { client, dataDir } = bridge;
    const runId = uuidv7();
    await client.startRun({ runId, profile: 'c11' });
    for await (const { event } of client.subscribe({ target: { case: 'runId', value: runId } })) {
      if (event.payload.case === 'agentStart') break;
    }
    await untilHandlesInterrupt(dataDir, runId);
    process.kill(serverPid(dataDir), 'SIGKILL');
    await client.cancelRun({ runId, requestId: '0b9c1f6e-7b0e-4b5e-9d59-3f1f0f8f7c11' });
    const events = await eventsOf(client, runId);
    const signals = events.filter(({ event }) => event.payload.case === 'cancelSignalled');
    expect(signals).toHaveLength(1);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 130 });
  }, 60_000);
});

describe('a gateway that cannot start', () => {
  it('names an unreachable NATS and the remedy, and leaves nothing behind', async () => {
    const options = { ...TEST_OPTIONS, profiles: {}, dataDir: temporaryDir() };
    const nats = { url: 'nats://user:secret@127.0.0.1:1' };
    const start = startGateway({ ...options, nats }, quietLogger);
    await expect(start).rejects.toMatchObject({ code: 'NATS_UNREACHABLE' });
    await expect(start).rejects.toThrow(/127\.0\.0\.1:1.*--nats-url/);
    await expect(start).rejects.not.toThrow(/secret/);
    // The data directory is free again.
    const again = startGateway({ ...options, natsServer: '/no/such/nats-server' }, quietLogger);
    await expect(again).rejects.toMatchObject({ code: 'NATS_SERVER_MISSING' });
    await expect(again).rejects.toThrow(/make build/);
  });

  it('names a data directory that cannot be made', async () => {
    for (const dataDir of [join(process.execPath, 'data'), '/proc/nothing/here']) {
      const start = startGateway({ ...TEST_OPTIONS, profiles: {}, dataDir }, quietLogger);
      await expect(start).rejects.toMatchObject({ code: 'DATA_DIR_INVALID' });
    }
  });

  it('names the port that another one has', async () => {
    await using first = await openTestGateway();
    const options = { ...TEST_OPTIONS, profiles: {}, dataDir: temporaryDir() };
    const start = startGateway({ ...options, listen: first.gateway.address }, quietLogger);
    await expect(start).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' });
  });
});

describe('a spool', () => {
  it('over its quota has the largest run cancelled, with the reason in the log', async () => {
    await using bridge = await openTestGateway({ spoolQuotaBytes: 1_000_000 });
    const { client } = bridge;
    const small = uuidv7();
    await client.startRun({
      runId: small,
      profile: 'sh',
      prompt: `echo '${HEADER}'; sleep 3; echo '${DONE}'`,
    });
    const large = uuidv7();
    const flood = `echo '${HEADER}'; head -c 2000000 /dev/zero >&2; exec sleep 60`;
    await client.startRun({ runId: large, profile: 'sh', prompt: flood });
    const events = await eventsOf(client, large);
    const request = events.find(({ event }) => event.payload.case === 'cancelRequested');
    expect(request?.event.payload.value).toMatchObject({ cause: CancelCause.SPACE });
    expect(verdictOf(await client.getRun(large))).toBe('CANCELLED / CANCEL_SIGNALLED');
    await eventsOf(client, small);
    expect(verdictOf(await client.getRun(small))).toBe('COMPLETED / TURN_DONE');
  });

  it('on a disk below its reserve takes no new run, and says what to do', async () => {
    await using bridge = await openTestGateway({ reserveBytes: Number.MAX_SAFE_INTEGER });
    const start = bridge.client.startRun({ runId: uuidv7(), profile: 'c02' });
    await expect(start).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
    await expect(start).rejects.toThrow(/free space/);
  });
});

describe('one run, one client', () => {
  it('that floods does not keep another from its end', async () => {
    await using bridge = await openTestGateway();
    const { client } = bridge;
    const flood = uuidv7();
    const lines = Buffer.from(`${HEADER}\n${`${DELTA}\n`.repeat(200_000)}`);
    const flooding = ingestBytes(client, { runId: flood, stdout: lines, exitCode: 0 });
    const runId = uuidv7();
    await client.startRun({ runId, profile: 'c02' });
    await eventsOf(client, runId);
    await flooding;
    expect(Number((await client.getRun(flood)).lastSequence)).toBe(200_003);
  });

  it('that vanishes in mid-stream harms no other', async () => {
    await using bridge = await openTestGateway();
    const { client } = bridge;
    const runId = uuidv7();
    await client.startRun({ runId, profile: 'c01' });
    const request = { target: { case: 'runId' as const, value: runId } };
    const other = connectBridge(bridge.gateway.address);
    for await (const { sequence } of other.subscribe(request)) {
      if (sequence === 10) break;
    }
    await other.close();
    expect(await eventsOf(client, runId)).toHaveLength(905);
  });
});
