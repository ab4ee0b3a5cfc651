import { describe, expect, it } from 'vitest';
import { createStartRate } from '../../src/control/start/start-rate.js';

describe('the rate of starts', () => {
  it("allows one second's worth at once, then one a token", () => {
    let nowMs = 5_000;
    const rate = createStartRate(100, () => nowMs);
    for (let i = 0; i < 100; i += 1) expect(rate.take()).toBe(0);
    expect(rate.take()).toBe(10);
    nowMs += 4;
    expect(rate.take()).toBe(6);
    nowMs += 6;
    expect(rate.take()).toBe(0);
    expect(rate.take()).toBe(10);
  });

  it('saves up no more than that', () => {
    let nowMs = 0;
    const rate = createStartRate(2, () => nowMs);
    nowMs = 3_600_000;
    expect([rate.take(), rate.take(), rate.take()]).toEqual([0, 0, 500]);
  });

  it('has a token when the time that it told is over, whatever the rate', () => {
    for (let perSecond = 1; perSecond <= 1_000; perSecond += 1) {
      let nowMs = 0.1;
      const rate = createStartRate(perSecond, () => nowMs);
      for (let i = 0; i < perSecond + 20; i += 1) {
        const waitMs = rate.take();
        if (waitMs === 0) continue;
        nowMs += waitMs;
        expect(rate.take()).toBe(0);
      }
    }
  });
});
