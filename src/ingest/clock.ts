/** Microseconds since the Unix epoch, as an integer below 2^53. */
export type ClockUs = () => number;

const RESYNC_MS = 1_000;

/**
 * The wall clock with the monotonic clock's resolution between two readings at most a second apart,
 * so that a stepped wall clock is followed and a batch's offsets still mean microseconds.
 */
export function createClock(): ClockUs {
  let wallMs = Date.now();
  let monotonicMs = performance.now();
  return () => {
    const sinceMs = performance.now() - monotonicMs;
    if (sinceMs < RESYNC_MS) return Math.round((wallMs + sinceMs) * 1_000);
    wallMs = Date.now();
    monotonicMs += sinceMs;
    return wallMs * 1_000;
  };
}
