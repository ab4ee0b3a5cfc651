import type { Metadata } from '@grpc/grpc-js';
import { BridgeError } from '../errors.js';
import type { Caller } from './runs.js';

/** What all handlers of one server share. */
export interface CallHost {
  /** Who calls; fails with a `BridgeError` if nobody that may. */
  authenticate(metadata: Metadata): Caller;
  /** Calls in flight, with what stops them. */
  readonly unary: Set<AbortController>;
  readonly streams: Set<AbortController>;
  readonly maxUnary: number;
  readonly maxStreams: number;
  isDraining: boolean;
  /** How long clients shall wait when the gateway goes away. */
  readonly drainRetryMs: number;
}

/** The call's place among those in flight; fails with `DRAINING` or `LIMIT_REACHED`. */
export function admit(host: CallHost, kind: 'unary' | 'streams'): AbortController {
  if (host.isDraining) throw draining(host);
  const calls = host[kind];
  const limit = kind === 'unary' ? host.maxUnary : host.maxStreams;
  if (calls.size >= limit) {
    const what = kind === 'unary' ? 'calls' : 'streams';
    throw new BridgeError(
      'LIMIT_REACHED',
      `this gateway serves ${limit} ${what} at once and has no room for one more; try again later`,
      { retryAfterMs: 1_000, metadata: { limit: String(limit) } },
    );
  }
  const controller = new AbortController();
  calls.add(controller);
  return controller;
}

/** The gateway goes away. */
export function draining(host: CallHost): BridgeError {
  return new BridgeError('DRAINING', 'this gateway is going away; connect again', {
    retryAfterMs: host.drainRetryMs,
  });
}

/** The client is gone. */
export function clientGone(): BridgeError {
  return new BridgeError('CANCELLED', 'the client left, or its deadline is over');
}
