import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Log } from '../../src/log/open-log.js';
import type { TestNats } from '../support/nats.js';
import {
  commitOf,
  eventsTo,
  type LogFixture,
  never,
  newPrefix,
  openFixture,
  writerOf,
} from './log-fixture.js';

const EVERYTHING = 'hep.event.v1.>';

let fixture: LogFixture;
let nats: TestNats;
let log: Log;

beforeAll(async () => {
  fixture = await openFixture();
  ({ nats, log } = fixture);
});

afterAll(() => fixture[Symbol.asyncDispose]());

describe('the tail', () => {
  it('joins the history without a hole or a repetition under continuous writes', async () => {
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
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
    const writer = writerOf(log, prefix);
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
    expect(seen).toEqual(eventsTo(40));
  }, 60_000);

  it('passes over what no bridge wrote, and so does history', async () => {
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    const { lastStreamSequence } = await log.reader.bounds();
    await writer.commit(commitOf(1));
    await jetstream(fixture.connection).publish('hep.event.v1.stray', 'hello');
    await writer.commit(commitOf(2));
    const seen: string[] = [];
    for await (const messages of log.reader.tail(lastStreamSequence + 1, never)) {
      for (const { body } of messages) seen.push(new TextDecoder().decode(body));
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(eventsTo(2));
    const read: number[] = [];
    for await (const messages of log.reader.read(EVERYTHING, lastStreamSequence + 1, never)) {
      read.push(...messages.map(({ firstSequence }) => firstSequence));
    }
    expect(read).toEqual([1, 2]);
  });

  it('waits for a server that is away when it begins', async () => {
    const prefix = newPrefix();
    const { lastStreamSequence } = await log.reader.bounds();
    await nats.kill9();
    const first = log.reader
      .tail(lastStreamSequence + 1, never)
      [Symbol.asyncIterator]()
      .next();
    await nats.restart();
    await writerOf(log, prefix).commit(commitOf(1));
    expect((await first).value).toMatchObject([{ firstSequence: 1 }]);
  });

  it('ends with STREAM_RECREATED when the stream is deleted and made again', async () => {
    await using own = await openFixture();
    const writer = writerOf(own.log, newPrefix());
    for (let i = 1; i <= 3; i += 1) await writer.commit(commitOf(i));
    const tail = own.log.reader.tail(1, never)[Symbol.asyncIterator]();
    for (let i = 1; i <= 3; i += 1) await tail.next();
    const ended = expect(tail.next()).rejects.toMatchObject({ code: 'STREAM_RECREATED' });
    const manager = await jetstreamManager(own.connection);
    const { config } = await manager.streams.info('HEP');
    await manager.streams.delete('HEP');
    await manager.streams.add(config);
    await ended;
  });
});
