import type { ClientDuplexStream, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { toBridgeError } from '../errors.js';
import type { CallOptions } from './bridge-client.js';
import { fromStatus } from './status-error.js';

/**
 * The responses of a streaming call, pulled; ends with the call's OK, fails with a `BridgeError` or the
 * signal's reason. Leaving it cancels the call.
 */
export async function* responsesOf(
  call: ClientReadableStream<Uint8Array>,
  address: string,
  options: CallOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { signal } = options;
  const stop = (): void => call.cancel();
  // A cancelled call still emits its error when nobody iterates any more.
  call.on('error', ignore);
  signal?.addEventListener('abort', stop);
  if (signal?.aborted === true) stop();
  try {
    for await (const response of call) yield response;
    signal?.throwIfAborted();
  } catch (thrown) {
    signal?.throwIfAborted();
    throw isServiceError(thrown) ? fromStatus(thrown, address) : toBridgeError(thrown);
  } finally {
    signal?.removeEventListener('abort', stop);
    call.cancel();
  }
}

/** Requests on their way. */
export interface Pushing {
  /** What `requests` threw, which cancelled the call. */
  readonly failure: unknown;
  stop(): void;
}

/** Writes `requests` as the call takes them, then half-closes. What `requests` throws cancels the call. */
export function pushRequests(
  call: ClientDuplexStream<Uint8Array, Uint8Array>,
  requests: AsyncIterable<Uint8Array>,
): Pushing {
  const source = requests[Symbol.asyncIterator]();
  let isStopped = false;
  let wake = (): void => {};
  const push = async (): Promise<void> => {
    try {
      for (;;) {
        const next = await source.next();
        if (isStopped) return;
        if (next.done === true) break;
        if (call.write(next.value)) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
          call.once('drain', resolve);
        });
      }
      call.end();
    } catch (thrown) {
      if (isStopped) return;
      call.cancel();
      throw thrown;
    }
  };
  let failure: unknown;
  push().catch((thrown: unknown) => {
    failure = thrown;
  });
  return {
    get failure() {
      return failure;
    },
    stop: () => {
      isStopped = true;
      wake();
      // Not awaited: the source may wait for something that never comes.
      source.return?.().catch(ignore);
    },
  };
}

function isServiceError(thrown: unknown): thrown is ServiceError {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    typeof thrown.code === 'number' &&
    status[thrown.code] !== undefined
  );
}

function ignore(): void {}
