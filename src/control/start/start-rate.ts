import { BridgeError } from '../../errors.js';

/** Bounds how fast agents are started: `take` once for each. */
export interface StartRate {
  /** Throws `LIMIT_REACHED` with the time to wait if one more is too many at `nowMs` (monotonic). */
  take(nowMs: number): void;
}

/** A bucket that holds the starts of one second, and fills at their rate. */
export function createStartRate(startsPerSecond: number): StartRate {
  let tokens = startsPerSecond;
  let filledMs: number | undefined;
  return {
    take(nowMs) {
      const sinceMs = nowMs - (filledMs ?? nowMs);
      tokens = Math.min(startsPerSecond, tokens + (sinceMs * startsPerSecond) / 1_000);
      filledMs = nowMs;
      if (tokens >= 1) {
        tokens -= 1;
        return;
      }
      const retryAfterMs = Math.ceil(((1 - tokens) * 1_000) / startsPerSecond);
      throw new BridgeError(
        'LIMIT_REACHED',
        `more than ${startsPerSecond} starts a second (max_starts_per_second); try again in ${retryAfterMs} ms`,
        { retryAfterMs },
      );
    },
  };
}
