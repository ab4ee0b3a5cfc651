/** How many runs a second may be started, with one second's worth at once. */
export interface StartRate {
  readonly perSecond: number;
  /** Takes a token and returns 0; or, if there is none, the whole milliseconds until the next. */
  take(): number;
}

/** Part of a token that sums of fractions may be short of a whole one. */
const ROUNDING = 1e-6;

/** A full bucket; `nowMs` is a monotonic clock. */
export function createStartRate(perSecond: number, nowMs: () => number): StartRate {
  let tokens = perSecond;
  let filledAtMs = nowMs();
  return {
    perSecond,
    take() {
      const atMs = nowMs();
      tokens = Math.min(perSecond, tokens + ((atMs - filledAtMs) * perSecond) / 1_000);
      filledAtMs = atMs;
      if (tokens < 1 - ROUNDING) return Math.ceil(((1 - tokens) * 1_000) / perSecond);
      tokens -= 1;
      return 0;
    },
  };
}
