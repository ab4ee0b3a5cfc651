import type { Caller } from './runs.js';

/** What a handler knows of its call. */
export interface CallContext {
  readonly caller: Caller;
  /**
   * Aborts with a `BridgeError`: `CANCELLED` when the client is gone or its deadline is over, `DRAINING`
   * (streams only) when the gateway goes away.
   */
  readonly signal: AbortSignal;
}
