import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Log } from '../../src/log/open-log.js';
import type { TestNats } from '../support/nats.js';
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

let fixture: LogFixture;
let nats: TestNats;
let log: Log;

beforeAll(async () => {
  fixture = await openFixture();
  ({ nats, log } = fixture);
});

afterAll(() => fixture[Symbol.asyncDispose]());

async function openOther(): Promise<AsyncDisposable & { readonly log: Log }> {
  const another = await openAnother(nats.url);
  return { log: another.log, [Symbol.asyncDispose]: () => another.connection.close() };
}

describe('the chain', () => {
  it('stores a run in order and reads it back', async () => {
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    for (let i = 1; i <= 20; i += 1) await writer.commit(commitOf(i));
    expect(await stored(log, prefix)).toEqual(eventsTo(20));
    expect((await log.reader.lastOfRun(prefix))?.streamSequence).toBe(writer.lastStreamSequence);
    expect((await log.reader.firstOfRun(prefix))?.firstSequence).toBe(1);
  });

  it.each([0, 1, 2, 5])(
    'lets exactly one of two gateways go on after %s messages',
    async (before) => {
      await using other = await openOther();
      for (let round = 0; round < 20; round += 1) {
        const prefix = newPrefix();
        const first = writerOf(log, prefix);
        for (let i = 1; i <= before; i += 1) await first.commit(commitOf(i));
        const { lastStreamSequence } = first;
        const second = writerOf(other.log, prefix, { lastStreamSequence });
        const race = await Promise.allSettled([
          first.commit(commitOf(before + 1, 'first')),
          second.commit(commitOf(before + 1, 'second')),
        ]);
        expect(race.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
        const [winner, loser] = race[0]?.status === 'fulfilled' ? [first, second] : [second, first];
        const lost = race.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
        expect(lost.reason).toMatchObject({ code: 'FENCED' });
        await expect(loser.commit(commitOf(before + 2))).rejects.toMatchObject({ code: 'FENCED' });
        await winner.commit(commitOf(before + 2, 'the end'));
        expect(await stored(log, prefix)).toEqual([
          ...eventsTo(before),
          winner === first ? 'first' : 'second',
          'the end',
        ]);
      }
    },
  );

  it('lets nobody write on top of the end that another wrote', async () => {
    await using other = await openOther();
    const prefix = newPrefix();
    const owner = writerOf(log, prefix);
    await owner.commit(commitOf(1));
    const { lastStreamSequence } = owner;
    const reapers = [log, other.log].map((each) => writerOf(each, prefix, { lastStreamSequence }));
    const ends = await Promise.allSettled([
      owner.commit(commitOf(2, 'finished')),
      ...reapers.map((reaper) => reaper.commit(commitOf(2, 'lost'))),
    ]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await stored(log, prefix)).toHaveLength(2);
  });

  it('fences a stale writer that wakes up after another wrote the end', async () => {
    const prefix = newPrefix();
    const stale = writerOf(log, prefix);
    await stale.commit(commitOf(1));
    const reaper = writerOf(log, prefix, { lastStreamSequence: stale.lastStreamSequence });
    await reaper.commit(commitOf(2, 'the end'));
    await expect(stale.commit(commitOf(2, 'late'))).rejects.toMatchObject({ code: 'FENCED' });
    expect(await stored(log, prefix)).toEqual(['event 1', 'the end']);
  });

  it('loses and doubles nothing when the server is killed under load', async () => {
    const prefixes = Array.from({ length: 8 }, newPrefix);
    const acked = new Map<string, number>();
    let isLoading = true;
    const writers = prefixes.map(async (prefix) => {
      const writer = writerOf(log, prefix);
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
      expect(await stored(log, prefix)).toEqual(eventsTo(count));
    }
  }, 60_000);

  it('goes on when the server stood still for longer than the time-out', async () => {
    const prefix = newPrefix();
    const writer = writerOf(log, prefix);
    await writer.commit(commitOf(1));
    nats.signal('SIGSTOP');
    const commit = writer.commit(commitOf(2));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    nats.signal('SIGCONT');
    await commit;
    await writer.commit(commitOf(3));
    expect(await stored(log, prefix)).toEqual(['event 1', 'event 2', 'event 3']);
  }, 30_000);

  it('gives up with the reason of its signal while NATS is away', async () => {
    const prefix = newPrefix();
    const controller = new AbortController();
    const writer = writerOf(log, prefix, { signal: controller.signal });
    await nats.kill9();
    const commit = writer.commit(commitOf(1));
    controller.abort(new Error('stopping'));
    await expect(commit).rejects.toThrow('stopping');
    await nats.restart();
    await writerOf(log, prefix).commit(commitOf(1));
  }, 30_000);
});
