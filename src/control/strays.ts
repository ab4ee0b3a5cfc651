import type { ControlContext } from './context.js';

/** Runs that may stand in this gateway's name although it does not have them. */
export interface Strays {
  /** When to look for them, on the monotonic clock. */
  dueMs: number;
}

/** A start or a take-over was cut short: unless its client comes again, the run is nobody's. */
export function leaveStray({ strays, reconnectWindowMs }: ControlContext): void {
  strays.dueMs = Math.min(strays.dueMs, performance.now() + reconnectWindowMs);
}
