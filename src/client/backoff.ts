const firstWaitMs = 100;
const maxWaitMs = 5_000;

/** Doubles with each failure, with jitter, so that many clients do not come back at the same moment. */
export function backoffMs(failures: number): number {
  return Math.min(maxWaitMs, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2);
}
