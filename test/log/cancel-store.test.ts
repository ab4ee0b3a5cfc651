import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import type { StoredCancel } from '../../src/log/cancel-store.js';
import { type LogFixture, openFixture } from './log-fixture.js';

let fixture: LogFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture[Symbol.asyncDispose]());

function cancelOf(runId: string, reason: string): StoredCancel {
  const requestId = uuidv4();
  return { runId, requestId, cause: CancelCause.CALLER, actor: 'me', reason, timeMs: Date.now() };
}

describe('a cancel request', () => {
  it('is kept once, however often it is sent', async () => {
    const cancel = cancelOf(uuidv7(), 'first');
    expect(await fixture.log.cancels.create(cancel)).toBe(true);
    expect(await fixture.log.cancels.create({ ...cancel, reason: 'second' })).toBe(false);
    expect(await fixture.log.cancels.list(cancel.runId)).toEqual([cancel]);
  });

  it('is kept once when it is sent many times at the same moment', async () => {
    const cancel = cancelOf(uuidv7(), 'same');
    const created = await Promise.all(
      Array.from({ length: 20 }, () => fixture.log.cancels.create(cancel)),
    );
    expect(created.filter(Boolean)).toHaveLength(1);
  });

  it('is listed for its run alone, oldest first', async () => {
    const runId = uuidv7();
    const cancels = ['a', 'b', 'c'].map((reason) => cancelOf(runId, reason));
    for (const cancel of cancels) await fixture.log.cancels.create(cancel);
    await fixture.log.cancels.create(cancelOf(uuidv7(), 'other'));
    expect(await fixture.log.cancels.list(runId)).toEqual(cancels);
    expect(await fixture.log.cancels.list(uuidv7())).toEqual([]);
  });
});
