/** Numbers that follow from a seed alone. */
export interface Random {
  /** From 0 up to, without, 1. */
  next(): number;
  /** A whole number of the range, both ends included. */
  between(low: number, high: number): number;
  /** True with the probability. */
  chance(probability: number): boolean;
  /** One of the items; throws if there is none. */
  pick<T>(items: readonly T[]): T;
  /** A generator of its own, so that what one part draws does not change what another gets. */
  fork(): Random;
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function bits(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  const next = (): number => bits() / 0x1_0000_0000;
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
    fork: () => createRandom(bits()),
  };
}
