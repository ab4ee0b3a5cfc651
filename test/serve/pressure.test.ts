import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type {
  SubscribeRequestSchema,
  SubscribeResponse,
} from '#gen/hep/bridge/v1/event_service_pb.js';
import type { LogReader } from '../../src/log/log-reader.js';
import { STREAM } from '../../src/log/names.js';
import { subscribeRaw } from './raw-subscriber.js';
import { delta } from './run-feed.js';
import { startFixture } from './serve-fixture.js';

type Request = MessageInitShape<typeof SubscribeRequestSchema>;

const ofRun = (runId: string, start?: Request['start']): Request => ({
  target: { case: 'runId', value: runId },
  ...(start === undefined ? {} : { start }),
});

function sequencesIn(response: SubscribeResponse): number[] {
  return response.batches.flatMap(({ events }) => events.map(({ sequence }) => Number(sequence)));
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes in buffers that something still holds. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

test('a subscriber that stops reading costs bounded memory and the others nothing, and gets all in the end', async () => {
  await using fixture = await startFixture();
  const limits = { maxBytes: 2 * 1024 * 1024, maxMessages: 1000 };
  await using gateway = await fixture.serve({ limits });
  const feed = fixture.feed();
  await feed.start();
  await using stalled = subscribeRaw(gateway.server.address, ofRun(feed.runId));
  const seen: number[] = [];
  const notices: (string | undefined)[] = [];
  for await (const response of stalled.responses()) {
    seen.push(...sequencesIn(response));
    if (response.notice.case !== undefined) notices.push(response.notice.case);
    if (response.notice.case === 'caughtUp') break;
  }

  const text = 'x'.repeat(64 * 1024);
  const commits = 1200;
  const reading = (async () => {
    const all: number[] = [];
    for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
      all.push(...sequencesIn(response));
    }
    return all;
  })();
  const before = heldBytes();
  for (let count = 0; count < commits; count++) {
    await feed.commit([delta(text)]);
  }
  await feed.finish();
  const wanted = Array.from({ length: commits + 2 }, (_, index) => index + 1);
  expect(await reading).toEqual(wanted);
  // 75 MiB went by; held are the window of 2 MiB, a response or two, and spare ends of NATS's buffers.
  // (V8 frees buffers some time after a collection.)
  await expect.poll(() => heldBytes() - before).toBeLessThan(6 * 1024 * 1024);

  for await (const response of stalled.responses()) {
    seen.push(...sequencesIn(response));
    if (response.notice.case !== undefined) notices.push(response.notice.case);
  }
  expect(seen).toEqual(wanted);
  expect(notices.slice(0, 2)).toEqual(['caughtUp', 'fellBehind']);
});

test('a client that vanishes leaves no stream and no live tail behind', async () => {
  await using fixture = await startFixture();
  let tails = 0;
  const tail: LogReader['tail'] = async function* (from, signal) {
    tails += 1;
    try {
      yield* fixture.reader.tail(from, signal);
    } finally {
      tails -= 1;
    }
  };
  await using gateway = await fixture.serve({ logReader: { ...fixture.reader, tail } });
  const feed = fixture.feed();
  await feed.start();
  for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
    if (response.notice.case === 'caughtUp') void feed.commit([delta('seen live')]);
    if (sequencesIn(response).includes(2)) break;
  }
  await expect.poll(() => gateway.server.openStreams()).toBe(0);
  await expect.poll(() => tails).toBe(0);
});

test('many live subscribers share one consumer', async () => {
  await using fixture = await startFixture();
  await using gateway = await fixture.serve();
  const feed = fixture.feed();
  await feed.start();
  let caughtUp = 0;
  const readers = Array.from({ length: 20 }, async () => {
    const all: number[] = [];
    for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
      all.push(...sequencesIn(response));
      if (response.notice.case === 'caughtUp') caughtUp += 1;
    }
    return all;
  });
  await expect.poll(() => caughtUp).toBe(20);
  const { state } = await fixture.access.manager.streams.info(STREAM);
  expect(state.consumer_count).toBe(1);
  await feed.commit([delta('a')]);
  await feed.finish();
  for (const all of await Promise.all(readers)) expect(all).toEqual([1, 2, 3]);
});

test('history that retention took is HISTORY_GONE with the first sequence kept', async () => {
  await using fixture = await startFixture();
  await using gateway = await fixture.serve();
  const feed = fixture.feed();
  await feed.start();
  let cursor = '';
  for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
    cursor = response.cursor;
    if (response.notice.case === 'caughtUp') break;
  }
  await feed.commit([delta('a')]);
  await feed.commit([delta('b')]);
  const kept = await feed.commit([delta('c')]);
  await fixture.access.manager.streams.purge(STREAM, { seq: kept });
  const { client } = gateway;
  const first = async (start?: Request['start']): Promise<number[]> => {
    for await (const response of client.subscribeOnce(ofRun(feed.runId, start))) {
      return sequencesIn(response);
    }
    return [];
  };
  const gone = { code: 'HISTORY_GONE', metadata: { first_sequence: '4' } };
  await expect(first()).rejects.toMatchObject(gone);
  await expect(first({ case: 'afterSequence', value: 2n })).rejects.toMatchObject(gone);
  await expect(first({ case: 'cursor', value: cursor })).rejects.toMatchObject(gone);
  expect(await first({ case: 'afterSequence', value: 3n })).toEqual([4]);
  expect(await first({ case: 'position', value: 2 })).toEqual([4]);
});

test('a stream that was made again is STREAM_RECREATED for an old cursor and for a live reader', async () => {
  await using fixture = await startFixture();
  await using gateway = await fixture.serve();
  const feed = fixture.feed();
  await feed.start();
  let cursor = '';
  const live = (async () => {
    for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
      cursor = response.cursor;
    }
  })();
  const ended = expect(live).rejects.toMatchObject({ code: 'STREAM_RECREATED' });
  await expect.poll(() => cursor).not.toBe('');
  await fixture.recreateStream();
  await ended;
  const start = { case: 'cursor', value: cursor } as const;
  const again = gateway.client.subscribeOnce(ofRun(feed.runId, start))[Symbol.asyncIterator]();
  await expect(again.next()).rejects.toMatchObject({ code: 'STREAM_RECREATED' });
});

test('a hole that a live reader meets ends its call with LOG_HOLE', async () => {
  await using fixture = await startFixture();
  await using gateway = await fixture.serve();
  const feed = fixture.feed();
  await feed.start();
  const live = (async () => {
    for await (const response of gateway.client.subscribeOnce(ofRun(feed.runId))) {
      if (response.notice.case !== 'caughtUp') continue;
      feed.withhold(delta('never stored'));
      await feed.commit([delta('after the hole')]);
    }
  })();
  await expect(live).rejects.toMatchObject({ code: 'LOG_HOLE', metadata: { next_sequence: '3' } });
});
