import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../src/log/stored-message.js';
import {
  commitOf,
  eventsTo,
  type LogFixture,
  never,
  newPrefix,
  openFixture,
  writerOf,
} from './log-fixture.js';

let fixture: LogFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture[Symbol.asyncDispose]());

/** A run of `count` messages of about `bytes`; returns its prefix. */
async function writeRun(count: number, bytes = 0): Promise<string> {
  const prefix = newPrefix();
  const writer = writerOf(fixture.log, prefix);
  for (let i = 1; i <= count; i += 1) {
    await writer.commit(commitOf(i, `event ${i}`.padEnd(bytes, ' ')));
  }
  return prefix;
}

function textOf({ body }: StoredMessage): string {
  return new TextDecoder().decode(body).trimEnd();
}

describe('history', () => {
  it('is all of a run, in order, however many requests it takes', async () => {
    const prefix = await writeRun(5_000);
    const seen: string[] = [];
    for await (const messages of fixture.log.reader.read(`${prefix}.*`, 1, never)) {
      expect(messages.length).toBeLessThanOrEqual(2_048);
      seen.push(...messages.map(textOf));
    }
    expect(seen).toEqual(eventsTo(5_000));
  });

  it('comes in arrays of about 1 MiB', async () => {
    const prefix = await writeRun(24, 200_000);
    const sizes: number[] = [];
    for await (const messages of fixture.log.reader.read(`${prefix}.*`, 1, never)) {
      sizes.push(messages.reduce((sum, { body }) => sum + body.length, 0));
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(24 * 200_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_048_576 + 200_000);
  });

  it('has one message at least in an array, however big it is', async () => {
    const prefix = await writeRun(3, 1_040_000);
    let count = 0;
    for await (const messages of fixture.log.reader.read(`${prefix}.*`, 1, never)) {
      count += messages.length;
    }
    expect(count).toBe(3);
  });

  it('begins at the stream sequence asked for, inclusive', async () => {
    const prefix = await writeRun(5);
    const first = await fixture.log.reader.firstOfRun(prefix);
    const from = (first?.streamSequence ?? 0) + 2;
    const seen: string[] = [];
    for await (const messages of fixture.log.reader.read(`${prefix}.*`, from, never)) {
      seen.push(...messages.map(textOf));
    }
    expect(seen).toEqual(['event 3', 'event 4', 'event 5']);
  });

  it('is empty for a run that is not there', async () => {
    const prefix = newPrefix();
    for await (const _ of fixture.log.reader.read(`${prefix}.*`, 1, never)) expect.fail();
    expect(await fixture.log.reader.firstOfRun(prefix)).toBeUndefined();
    expect(await fixture.log.reader.lastOfRun(prefix)).toBeUndefined();
  });

  it('goes on without a hole or a repetition when the server is killed in the middle', async () => {
    const prefix = await writeRun(2_000, 3_000);
    const seen: string[] = [];
    let arrays = 0;
    for await (const messages of fixture.log.reader.read(`${prefix}.*`, 1, never)) {
      seen.push(...messages.map(textOf));
      arrays += 1;
      if (arrays === 1) await fixture.nats.kill9();
      // What was read ahead is still there; the rest is asked of the new server.
      if (arrays === 1) await fixture.nats.restart();
    }
    expect(seen).toEqual(eventsTo(2_000));
  });

  it('ends with the reason of its signal', async () => {
    const prefix = await writeRun(1);
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    const read = fixture.log.reader.read(`${prefix}.*`, 1, controller.signal);
    await expect(read[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
  });
});
