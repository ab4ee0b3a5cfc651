import { connect, type NatsConnection } from '@nats-io/transport-node';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Commit } from '../../src/ingest/run-log.js';
import { type Log, openLog } from '../../src/log/open-log.js';
import type { RunWriter } from '../../src/log/run-writer.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { runSubjectPrefix } from '../../src/log/subject.js';
import { startNats, type TestNats } from '../support/nats.js';

let nats: TestNats;
let connection: NatsConnection;
let log: Log;
const never = new AbortController().signal;

beforeAll(async () => {
  nats = await startNats();
  connection = await connect({
    servers: nats.url,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  });
  log = await openLog(connection, DEFAULT_STREAM_OPTIONS);
});

afterAll(async () => {
  await connection.close();
  await nats.stop();
});

function newPrefix(): string {
  return runSubjectPrefix({ tenant: 'default', partition: 7, runId: uuidv7() });
}

function writerOf(subjectPrefix: string, lastStreamSequence = 0): RunWriter {
  return log.writer({
    subjectPrefix,
    writerId: 'w',
    lastStreamSequence,
    requestHash: 'h',
    signal: never,
  });
}

function commitOf(sequence: number, body = `event ${sequence}`): Commit {
  return {
    class: 'step',
    firstSequence: sequence,
    lastSequence: sequence,
    body: new TextEncoder().encode(body),
  };
}

async function stored(subjectPrefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const messages of log.reader.read(`${subjectPrefix}.*`, 1, never)) {
    for (const { body } of messages) found.push(new TextDecoder().decode(body));
  }
  return found;
}

describe('the chain', () => {
  it('stores a run in order and reads it back', async () => {
    const prefix = newPrefix();
    const writer = writerOf(prefix);
    for (let i = 1; i <= 20; i += 1) await writer.commit(commitOf(i));
    expect(await stored(prefix)).toEqual(Array.from({ length: 20 }, (_, i) => `event ${i + 1}`));
    expect((await log.reader.lastOfRun(prefix))?.streamSequence).toBe(writer.lastStreamSequence);
    expect((await log.reader.firstOfRun(prefix))?.firstSequence).toBe(1);
  });

  it.each([0, 1, 2, 5])(
    'lets exactly one of two writers go on after %s messages',
    async (before) => {
      for (let round = 0; round < 20; round += 1) {
        const prefix = newPrefix();
        const first = writerOf(prefix);
        for (let i = 1; i <= before; i += 1) await first.commit(commitOf(i));
        const second = writerOf(prefix, first.lastStreamSequence);
        const race = await Promise.allSettled([
          first.commit(commitOf(before + 1, 'first')),
          second.commit(commitOf(before + 1, 'second')),
        ]);
        const won = race.filter(({ status }) => status === 'fulfilled');
        const lost = race.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
        expect(won).toHaveLength(1);
        expect(lost.reason).toMatchObject({ code: 'FENCED' });
        const loser = race[0]?.status === 'rejected' ? first : second;
        await expect(loser.commit(commitOf(before + 2))).rejects.toMatchObject({ code: 'FENCED' });
        expect((await stored(prefix)).length).toBe(before + 1);
      }
    },
  );

  it('fences a stale writer that wakes up after another wrote the end', async () => {
    const prefix = newPrefix();
    const stale = writerOf(prefix);
    await stale.commit(commitOf(1));
    const reaper = writerOf(prefix, stale.lastStreamSequence);
    await reaper.commit(commitOf(2, 'the end'));
    await expect(stale.commit(commitOf(2, 'late'))).rejects.toMatchObject({ code: 'FENCED' });
    expect(await stored(prefix)).toEqual(['event 1', 'the end']);
  });

  it('loses and doubles nothing when the server is killed under load', async () => {
    const prefixes = Array.from({ length: 8 }, newPrefix);
    const acked = new Map<string, number>();
    let isLoading = true;
    const writers = prefixes.map(async (prefix) => {
      const writer = writerOf(prefix);
      for (let i = 1; isLoading; i += 1) {
        await writer.commit(commitOf(i));
        acked.set(prefix, i);
      }
    });
    for (let kills = 0; kills < 3; kills += 1) {
      const target = 200 * (kills + 1);
      while (Math.min(...prefixes.map((prefix) => acked.get(prefix) ?? 0)) < target) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      await nats.kill9AndRestart();
    }
    isLoading = false;
    await Promise.all(writers);
    for (const prefix of prefixes) {
      const count = acked.get(prefix) ?? 0;
      expect(await stored(prefix)).toEqual(
        Array.from({ length: count }, (_, i) => `event ${i + 1}`),
      );
    }
  }, 60_000);

  it('goes on when the server stood still for longer than the time-out', async () => {
    const prefix = newPrefix();
    const writer = writerOf(prefix);
    await writer.commit(commitOf(1));
    nats.signal('SIGSTOP');
    const commit = writer.commit(commitOf(2));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    nats.signal('SIGCONT');
    await commit;
    await writer.commit(commitOf(3));
    expect(await stored(prefix)).toEqual(['event 1', 'event 2', 'event 3']);
  }, 30_000);

  it('gives up with the reason of its signal while NATS is away', async () => {
    const prefix = newPrefix();
    const controller = new AbortController();
    const writer = log.writer({
      subjectPrefix: prefix,
      writerId: 'w',
      lastStreamSequence: 0,
      requestHash: 'h',
      signal: controller.signal,
    });
    await nats.kill9();
    const commit = writer.commit(commitOf(1));
    controller.abort(new Error('stopping'));
    await expect(commit).rejects.toThrow('stopping');
    await nats.restart();
    await writerOf(prefix).commit(commitOf(1));
  }, 30_000);
});

describe('the tail', () => {
  it('joins the history without a hole or a repetition under continuous writes', async () => {
    const prefix = newPrefix();
    const writer = writerOf(prefix);
    let isWriting = true;
    let written = 0;
    const writing = (async () => {
      for (let i = 1; isWriting; i += 1) {
        await writer.commit(commitOf(i));
        written = i;
      }
    })();
    const { lastStreamSequence } = await log.reader.bounds();
    const seen: number[] = [];
    const controller = new AbortController();
    for await (const messages of log.reader.tail(lastStreamSequence + 1, controller.signal)) {
      for (const message of messages) {
        if (message.runId === prefix.split('.')[5]) seen.push(message.firstSequence);
      }
      if (seen.length > 500) isWriting = false;
      if (!isWriting && seen.at(-1) === written) break;
      if (!isWriting) await writing;
    }
    await writing;
    const first = seen[0] ?? 0;
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => first + i));
    expect(seen.length).toBeGreaterThan(500);
  });

  it('survives a broker restart without a hole', async () => {
    const prefix = newPrefix();
    const writer = writerOf(prefix);
    const { lastStreamSequence } = await log.reader.bounds();
    const controller = new AbortController();
    const seen: string[] = [];
    const tail = (async () => {
      for await (const messages of log.reader.tail(lastStreamSequence + 1, controller.signal)) {
        for (const { body } of messages) seen.push(new TextDecoder().decode(body));
        if (seen.length >= 40) return;
      }
    })();
    for (let i = 1; i <= 20; i += 1) await writer.commit(commitOf(i));
    await nats.kill9AndRestart();
    for (let i = 21; i <= 40; i += 1) await writer.commit(commitOf(i));
    await tail;
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => `event ${i + 1}`));
  }, 60_000);
});
