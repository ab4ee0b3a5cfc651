import { describe, expect, it } from 'vitest';
import { createOwnerWatch } from '../../src/control/owners/owner-watch.js';
import type { OwnerEntry } from '../../src/log/owner-store.js';

function entry(ownerId: string, revision: number): OwnerEntry {
  return { ownerId, revision, instance: 'i', host: 'h', pid: 1, version: '0' };
}

describe('an owner', () => {
  it('is lost when its heartbeat stood still for long enough under the eyes of the observer', () => {
    const watch = createOwnerWatch({ lostAfterMs: 100, maxGapMs: 30 });
    const lost: string[][] = [];
    for (let nowMs = 0; nowMs <= 120; nowMs += 20) {
      lost.push(watch.observe(nowMs, [entry('a', 1), entry('b', nowMs)]).map((e) => e.ownerId));
    }
    expect(lost).toEqual([[], [], [], [], [], ['a'], ['a']]);
    expect(watch.silentMs('b')).toBe(0);
    expect(watch.silentMs('c')).toBeUndefined();
  });

  it('is not lost by an outage in which nobody could look, however long', () => {
    const watch = createOwnerWatch({ lostAfterMs: 100, maxGapMs: 30 });
    for (let nowMs = 0; nowMs <= 80; nowMs += 20) watch.observe(nowMs, [entry('a', 1)]);
    expect(watch.silentMs('a')).toBe(80);
    expect(watch.observe(100_000, [entry('a', 1)])).toEqual([]);
    expect(watch.silentMs('a')).toBe(0);
    expect(watch.observe(100_020, [entry('a', 1)])).toEqual([]);
  });

  it('that beats once more begins anew', () => {
    const watch = createOwnerWatch({ lostAfterMs: 40, maxGapMs: 30 });
    watch.observe(0, [entry('a', 1)]);
    watch.observe(20, [entry('a', 1)]);
    expect(watch.observe(40, [entry('a', 2)])).toEqual([]);
    expect(watch.observe(60, [entry('a', 2)])).toEqual([]);
    expect(watch.observe(80, [entry('a', 2)])).toHaveLength(1);
  });
});
