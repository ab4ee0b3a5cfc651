import { create } from '@bufbuild/protobuf';
import { Client, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type IngestRequest,
  IngestRequestSchema,
  type IngestResponse,
  IngestResponseSchema,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import { GetRunResponseSchema } from '#gen/hep/bridge/v1/run_service_pb.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { fromStatus } from '../../src/client/status-error.js';
import type { Runs } from '../../src/serve/runs.js';
import { delta } from './run-feed.js';
import { noRuns, type ServeFixture, startFixture } from './serve-fixture.js';

let fixture: ServeFixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const ofRun = (runId: string) => ({ target: { case: 'runId', value: runId } }) as const;

function rawUnary(address: string, path: string, request: Buffer): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  return new Promise<Buffer>((resolve, reject) => {
    const same = (bytes: Buffer): Buffer => bytes;
    client.makeUnaryRequest(path, same, same, request, (error, response) => {
      client.close();
      if (error === null) resolve(response ?? Buffer.alloc(0));
      else reject(fromStatus(error, address));
    });
  });
}

test('unary answers and failures of the gateway reach the client as they are', async () => {
  const runs: Runs = {
    ...noRuns,
    get: async ({ runId }) =>
      create(GetRunResponseSchema, { run: create(RunSchema, { runId, labels: { a: 'ä\u2028' } }) }),
  };
  await using gateway = await fixture.serve({ runs });
  const { client } = gateway;
  expect((await client.getRun('r')).labels).toEqual({ a: 'ä\u2028' });
  await expect(client.startRun({})).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
  await expect(client.cancelRun({ runId: 'r' })).rejects.toMatchObject({
    code: 'OWNER_UNREACHABLE',
    retryAfterMs: 1000,
  });
});

test('bytes that are no request are INVALID_REQUEST, not a hanging call', async () => {
  await using gateway = await fixture.serve();
  const bad = Buffer.from([0x0a, 0xff]);
  const { address } = gateway.server;
  await expect(rawUnary(address, '/hep.bridge.v1.RunService/GetRun', bad)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
  });
});

test('a handler that throws anything at once still gives the client a status', async () => {
  const runs: Runs = {
    ...noRuns,
    get: () => {
      throw 'text with half a pair \ud83d';
    },
  };
  await using gateway = await fixture.serve({
    runs,
    logReader: {
      ...fixture.reader,
      bounds: () => {
        throw new TypeError('before the first message');
      },
    },
  });
  await expect(gateway.client.getRun('r')).rejects.toMatchObject({ code: 'INTERNAL' });
  const runId = fixture.feed().runId;
  const call = gateway.client.subscribeOnce(ofRun(runId))[Symbol.asyncIterator]();
  await expect(call.next()).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'before the first message',
  });
});

test('a port in use is ADDRESS_IN_USE and names the port and the remedy', async () => {
  await using gateway = await fixture.serve();
  const { address, port } = gateway.server;
  await expect(fixture.serve({ listen: address })).rejects.toMatchObject({
    code: 'ADDRESS_IN_USE',
    message: expect.stringMatching(`port ${port} is in use .* --listen`),
  });
});

test('a subscriber beyond the limit is LIMIT_REACHED and the others go on', async () => {
  await using gateway = await fixture.serve({ limits: { maxStreams: 1 } });
  const feed = fixture.feed();
  await feed.start();
  const seen: number[] = [];
  for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
    for (const { events } of response.batches) seen.push(...events.map((e) => Number(e.sequence)));
    if (response.notice.case !== 'caughtUp') continue;
    const second = gateway.client.subscribeOnce(ofRun(feed.runId))[Symbol.asyncIterator]();
    await expect(second.next()).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
      metadata: { limit: '1' },
    });
    await feed.finish();
  }
  expect(seen).toEqual([1, 2]);
});

test('close says Draining with the last cursor, then UNAVAILABLE with a retry delay', async () => {
  await using gateway = await fixture.serve({ drainRetryMs: 1500 });
  const feed = fixture.feed();
  await feed.start();
  const said: (string | undefined)[] = [];
  const cursors: string[] = [];
  const reading = (async () => {
    for await (const { notice, cursor } of gateway.client.subscribeOnce(ofRun(feed.runId))) {
      said.push(notice.case);
      cursors.push(cursor);
      if (notice.case === 'caughtUp') void gateway.server.close();
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'DRAINING', retryAfterMs: 1500 });
  expect(said).toEqual([undefined, 'caughtUp', 'draining']);
  expect(cursors[2]).toBe(cursors[1]);
});

test('close ends although a client does not read and a source does not heed', async () => {
  const runs: Runs = {
    ...noRuns,
    ingest: async function* () {
      await new Promise(() => {});
    },
  };
  await using gateway = await fixture.serve({ runs });
  const ingest = gateway.client.ingest(nothingToSend())[Symbol.asyncIterator]();
  const first = ingest.next();
  await expect.poll(() => gateway.server.openStreams()).toBe(1);
  const closed = gateway.server.close();
  expect((await first).value?.message.case).toBe('draining');
  await expect(ingest.next()).rejects.toMatchObject({ code: 'DRAINING' });
  await closed;
});

test('ingest pulls the requests and ends as the gateway says', async () => {
  const seen: (string | undefined)[] = [];
  const runs: Runs = {
    ...noRuns,
    ingest: async function* (requests) {
      yield response({ case: 'opened', value: { maxChunkBytes: 9 } });
      for await (const { message } of requests) {
        seen.push(message.case);
        if (message.case === 'exit') yield response({ case: 'finished', value: {} });
      }
    },
  };
  await using gateway = await fixture.serve({ runs });
  const said: (string | undefined)[] = [];
  for await (const { message } of gateway.client.ingest(threeRequests())) said.push(message.case);
  expect(seen).toEqual(['open', 'stdout', 'exit']);
  expect(said).toEqual(['opened', 'finished']);
  await using other = await fixture.serve();
  const refused = other.client.ingest(threeRequests())[Symbol.asyncIterator]();
  await expect(refused.next()).rejects.toMatchObject({ code: 'INGEST_GAP' });
});

test('an ingest client that leaves aborts its signal', async () => {
  let reason: unknown;
  const runs: Runs = {
    ...noRuns,
    ingest: async function* (requests, _caller, signal) {
      signal.addEventListener('abort', () => {
        reason = signal.reason;
      });
      yield response({ case: 'opened', value: {} });
      for await (const _ of requests);
    },
  };
  await using gateway = await fixture.serve({ runs });
  for await (const _ of gateway.client.ingest(nothingToSend())) break;
  await expect.poll(() => reason).toMatchObject({ code: 'CANCELLED' });
});

test('health and, when asked for, reflection are served', async () => {
  await using gateway = await fixture.serve({ reflection: true });
  const { address } = gateway.server;
  const health = '/grpc.health.v1.Health/Check';
  const ofEvents = Buffer.from([0x0a, 26, ...Buffer.from('hep.bridge.v1.EventService')]);
  expect([...(await rawUnary(address, health, ofEvents))]).toEqual([8, 1]);
  gateway.server.setServing(false);
  expect([...(await rawUnary(address, health, ofEvents))]).toEqual([8, 2]);
  const client = new Client(address, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    same,
    same,
  );
  call.end(Buffer.from([0x3a, 1, 0x2a]));
  const [answer] = await call.toArray();
  expect(String(answer)).toContain('hep.bridge.v1.EventService');
  client.close();
});

test('the client goes on by cursor when the gateway goes away and comes back', async () => {
  const feed = fixture.feed();
  await feed.start();
  const first = await fixture.serve();
  const { address } = first.server;
  const client = connectBridge(address);
  const seen: number[] = [];
  const notices: string[] = [];
  const onNotice = ({ kind }: { kind: string }): void => {
    notices.push(kind);
  };
  const reading = (async () => {
    for await (const { sequence } of client.subscribe(ofRun(feed.runId), { onNotice })) {
      seen.push(sequence);
    }
  })();
  await expect.poll(() => notices).toContain('caughtUp');
  await first[Symbol.asyncDispose]();
  await feed.commit([delta('while away')]);
  await using _second = await fixture.serve({ listen: address });
  await feed.finish();
  await reading;
  expect(seen).toEqual([1, 2, 3]);
  expect(notices).toContain('reconnecting');
  await client.close();
});

test('a client without a bridge fails at once and says how to start one', async () => {
  const gateway = await fixture.serve();
  await gateway[Symbol.asyncDispose]();
  const client = connectBridge(gateway.server.address);
  const wanted = {
    code: 'BRIDGE_UNREACHABLE',
    message: expect.stringContaining('hep-bridge serve'),
  };
  await expect(client.getRun('r')).rejects.toMatchObject(wanted);
  const events = client.subscribe(ofRun(fixture.feed().runId))[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject(wanted);
  await client.close();
});

test('every code has a status that is not OK', async () => {
  const { isCode, statusOf } = await import('../../src/serve/status.js');
  expect(isCode('LOG_HOLE')).toBe(true);
  expect(isCode('toString')).toBe(false);
  expect(statusOf('LOG_HOLE')).toBe(status.DATA_LOSS);
});

function response(message: IngestResponse['message'] | { case: string; value: object }) {
  return create(IngestResponseSchema, { message } as { message: IngestResponse['message'] });
}

async function* threeRequests(): AsyncIterable<IngestRequest> {
  yield create(IngestRequestSchema, { message: { case: 'open', value: { runId: 'r' } } });
  yield create(IngestRequestSchema, {
    message: { case: 'stdout', value: { data: Buffer.from('x') } },
  });
  yield create(IngestRequestSchema, { message: { case: 'exit', value: { exitCode: 0 } } });
}

async function* nothingToSend(): AsyncIterable<IngestRequest> {
  await new Promise(() => {});
}
