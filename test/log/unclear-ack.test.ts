import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats } from '../../src/log/connect.js';
import { openLog } from '../../src/log/open-log.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { startNats } from '../support/nats.js';
import {
  commitOf,
  eventsTo,
  type LogFixture,
  newPrefix,
  openAnother,
  openFixture,
  stored,
  writerOf,
} from './log-fixture.js';
import { startLossyProxy } from './lossy-proxy.js';

let fixture: LogFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture[Symbol.asyncDispose]());

/** Resolves when the run's newest message is `sequence`. */
async function landed(prefix: string, sequence: number): Promise<void> {
  await expect
    .poll(async () => (await fixture.log.reader.lastOfRun(prefix))?.lastSequence)
    .toBe(sequence);
}

describe('a commit whose acknowledgement is lost', () => {
  it.each([1, 2, 5])('is stored once, as message %s of its run', async (position) => {
    await using proxy = await startLossyProxy(fixture.nats.port);
    const { connection, log } = await openAnother(proxy.url);
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    for (let i = 1; i < position; i += 1) await writer.commit(commitOf(i));
    proxy.loseAnswers();
    const commit = writer.commit(commitOf(position));
    await landed(prefix, position);
    proxy.cut();
    await commit;
    await writer.commit(commitOf(position + 1));
    expect(await stored(fixture.log, prefix)).toEqual(eventsTo(position + 1));
    await connection.close();
  });

  it('fences its writer if another took the run over meanwhile', async () => {
    await using proxy = await startLossyProxy(fixture.nats.port);
    const { connection, log } = await openAnother(proxy.url);
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    await writer.commit(commitOf(1));
    proxy.loseAnswers();
    const commit = writer.commit(commitOf(2));
    await landed(prefix, 2);
    const last = await fixture.log.reader.lastOfRun(prefix);
    const reaper = writerOf(fixture.log, prefix, {
      lastStreamSequence: last?.streamSequence ?? 0,
    });
    await reaper.commit(commitOf(3, 'lost'));
    const fenced = expect(commit).rejects.toMatchObject({ code: 'FENCED' });
    proxy.cut();
    await fenced;
    await expect(writer.commit(commitOf(3))).rejects.toMatchObject({ code: 'FENCED' });
    expect(await stored(fixture.log, prefix)).toEqual(['event 1', 'event 2', 'lost']);
    await connection.close();
  });

  it('leaves one of two writers that raced while nobody heard of it', async () => {
    await using proxy = await startLossyProxy(fixture.nats.port);
    const { connection, log } = await openAnother(proxy.url);
    for (let round = 0; round < 5; round += 1) {
      const prefix = newPrefix();
      const deaf = writerOf(log, prefix);
      const other = writerOf(fixture.log, prefix);
      proxy.loseAnswers();
      const deafCommit = deaf.commit(commitOf(1, 'deaf'));
      const otherCommit = other.commit(commitOf(1, 'other'));
      await landed(prefix, 1);
      proxy.cut();
      const race = await Promise.allSettled([deafCommit, otherCommit]);
      const [first] = await stored(fixture.log, prefix);
      expect(race.map(({ status }) => status === 'fulfilled')).toEqual([
        first === 'deaf',
        first === 'other',
      ]);
    }
    await connection.close();
  });
});

describe('a commit that the server refuses', () => {
  it('is HISTORY_GONE once retention took the run, and the chain begins anew', async () => {
    await using own = await openFixture();
    const prefix = newPrefix();
    const writer = writerOf(own.log, prefix);
    await writer.commit(commitOf(1));
    const manager = await jetstreamManager(own.connection);
    await manager.streams.update('HEP', { max_msgs: 1 });
    await writerOf(own.log, newPrefix()).commit(commitOf(1));
    await expect(writer.commit(commitOf(2))).rejects.toMatchObject({ code: 'HISTORY_GONE' });
    await writer.restartChain();
    await writer.commit(commitOf(2));
    expect(await stored(own.log, prefix)).toEqual(['event 2']);
  });

  it('stays refused if another wrote after the history was gone', async () => {
    await using own = await openFixture();
    const prefix = newPrefix();
    const writer = writerOf(own.log, prefix);
    await writer.commit(commitOf(1));
    const manager = await jetstreamManager(own.connection);
    await manager.streams.update('HEP', { max_msgs: 1 });
    await writerOf(own.log, newPrefix()).commit(commitOf(1));
    await expect(writer.commit(commitOf(2))).rejects.toMatchObject({ code: 'HISTORY_GONE' });
    await writerOf(own.log, prefix).commit(commitOf(2, 'lost'));
    await expect(writer.restartChain()).rejects.toMatchObject({ code: 'FENCED' });
    await expect(writer.commit(commitOf(2))).rejects.toMatchObject({ code: 'FENCED' });
  });

  it('is an error with the size if it is too large for the server', async () => {
    const writer = writerOf(fixture.log, newPrefix());
    const commit = writer.commit(commitOf(1, 'x'.repeat(2_000_000)));
    await expect(commit).rejects.toThrow(/2000000 bytes/);
    await writer.commit(commitOf(1));
  });

  it('waits, and says why, while the stream cannot grow', async () => {
    await using nats = await startNats({ config: { jetstream: { max_file_store: 200_000 } } });
    const { connection, log } = await openAnother(nats.url);
    const giveUp = new AbortController();
    const reason = new Promise<string>((resolve) => {
      const writer = writerOf(log, newPrefix(), { signal: giveUp.signal, onWaiting: resolve });
      const write = async (): Promise<void> => {
        for (let i = 1; ; i += 1) await writer.commit(commitOf(i, 'x'.repeat(20_000)));
      };
      write().catch(() => undefined);
    });
    expect(await reason).toMatch(/resource|storage|bytes/);
    giveUp.abort();
    await connection.close();
  });

  it('waits, and names the subject, while its user may not publish', async () => {
    const permissions = { publish: { deny: ['hep.event.v1.>'] } };
    const authorization = { users: [{ user: 'u', password: 'p:w@/', permissions }] };
    await using nats = await startNats({ config: { authorization } });
    const url = `nats://u:${encodeURIComponent('p:w@/')}@127.0.0.1:${nats.port}`;
    const connection = await connectNats({ url }, 'test');
    const log = await openLog(connection, DEFAULT_STREAM_OPTIONS);
    const giveUp = new AbortController();
    const prefix = newPrefix();
    const reason = new Promise<string>((resolve) => {
      const writer = writerOf(log, prefix, { signal: giveUp.signal, onWaiting: resolve });
      writer.commit(commitOf(1)).catch(() => undefined);
    });
    expect(await reason).toContain(`publish to ${prefix}.step`);
    giveUp.abort();
    await connection.close();
  });
});
