import type { Client, Metadata } from '@grpc/grpc-js';
import type { UnaryOptions } from './bridge-client.js';
import { fromStatus } from './status-error.js';

/** A connection and what goes with each call on it. */
export interface Wire {
  readonly client: Client;
  readonly address: string;
  readonly metadata: Metadata;
}

const defaultTimeoutMs = 30_000;

/** One unary call; fails with a `BridgeError`, or the signal's reason. */
export function callUnary(
  wire: Wire,
  path: string,
  request: Uint8Array,
  options: UnaryOptions,
): Promise<Uint8Array> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const deadline = Date.now() + (options.timeoutMs ?? defaultTimeoutMs);
    const call = wire.client.makeUnaryRequest(
      path,
      (message: Uint8Array) => Buffer.from(message),
      (message: Buffer): Uint8Array => message,
      request,
      wire.metadata,
      { deadline },
      (error, response) => {
        signal?.removeEventListener('abort', stop);
        if (signal?.aborted === true) reject(signal.reason);
        else if (error !== null) reject(fromStatus(error, wire.address));
        else resolve(response ?? new Uint8Array());
      },
    );
    const stop = (): void => call.cancel();
    signal?.addEventListener('abort', stop);
  });
}
