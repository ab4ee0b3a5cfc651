import type { Readable } from 'node:stream';

/**
 * The messages of a request stream, pulled one at a time (gRPC's flow control then stops the client).
 * Ends when the client half-closes; fails with the signal's reason.
 */
export async function* pullRequests(
  call: Readable,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const waiting: Uint8Array[] = [];
  let hasEnded = false;
  let wake = (): void => {};
  const onData = (message: Uint8Array): void => {
    waiting.push(message);
    call.pause();
    wake();
  };
  const onEnd = (): void => {
    hasEnded = true;
    wake();
  };
  const onAbort = (): void => wake();
  call.on('data', onData);
  call.on('end', onEnd);
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const message = waiting.shift();
      if (message !== undefined) {
        yield message;
        continue;
      }
      if (hasEnded) return;
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      call.resume();
      await more;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    call.off('data', onData);
    call.off('end', onEnd);
    // What the client still sends is thrown away, so that the call can end.
    call.resume();
  }
}
