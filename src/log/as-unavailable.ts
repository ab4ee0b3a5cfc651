import { JetStreamApiError } from '@nats-io/jetstream';
import { BridgeError } from '../errors.js';

/**
 * What a call to NATS returns; whatever it throws becomes `LOG_UNAVAILABLE`, with `what` was tried
 * and the server's code.
 */
export async function asUnavailable<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    const code = thrown instanceof JetStreamApiError ? ` (${thrown.code})` : '';
    throw new BridgeError('LOG_UNAVAILABLE', `${what}: NATS does not answer well: ${text}${code}`, {
      cause: thrown,
      retryAfterMs: 1_000,
    });
  }
}
