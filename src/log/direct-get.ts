import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import { connectionWatch } from './connection-watch.js';

/** Body of a batched `$JS.API.DIRECT.GET`; either way the server ends it with one end of batch. */
export type DirectGet =
  /** The next messages of a filter, from a stream sequence on (inclusive). */
  | {
      readonly seq: number;
      readonly next_by_subj: string;
      /** Messages, at most. */
      readonly batch: number;
      /** Bytes after which the server ends the batch; it sends one message at least. */
      readonly max_bytes?: number;
    }
  /** The newest message of each subject; at most 1,024 of them. */
  | { readonly multi_last: readonly string[]; readonly batch: number };

/** A message with its place in the stream. */
export interface DirectMessage {
  readonly streamSequence: number;
  readonly subject: string;
  readonly message: Msg;
}

const IDLE_MS = 5_000;
const END_OF_BATCH = 204;
const NO_MESSAGES = 404;

/**
 * One batched direct get: all its messages, in order; none if there is nothing more. It needs no
 * consumer, and any replica may answer. Fails with `LOG_UNAVAILABLE` if the server falls silent or
 * the connection is cut, with the signal's reason if that comes first. The library's own iterator
 * never ends its subscription, and never ends at all when the connection is cut in the middle.
 */
export async function directGet(
  connection: NatsConnection,
  stream: string,
  request: DirectGet,
  signal?: AbortSignal,
): Promise<readonly DirectMessage[]> {
  signal?.throwIfAborted();
  const watch = connectionWatch(connection);
  if (!watch.isConnected) throw unavailable(stream, 'no connection to NATS');
  const inbox = createInbox();
  const messages: DirectMessage[] = [];
  return await new Promise((resolve, reject) => {
    const fail = (why: string): void => end(() => reject(unavailable(stream, why)));
    const onAbort = (): void => end(() => reject(signal?.reason as Error));
    const timer = setTimeout(() => fail(`no answer in ${IDLE_MS} ms`), IDLE_MS);
    const unlisten = watch.listen({ disconnected: () => fail('the connection was cut') });
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) fail(error.message);
        else take(message);
      },
    });

    function end(settle: () => void): void {
      clearTimeout(timer);
      unlisten();
      signal?.removeEventListener('abort', onAbort);
      if (!connection.isClosed()) subscription.unsubscribe();
      settle();
    }

    function take(message: Msg): void {
      const { headers } = message;
      const code = headers?.code ?? 0;
      if (code === END_OF_BATCH || code === NO_MESSAGES) {
        end(() => resolve(messages));
      } else if (code !== 0) {
        fail(`${code} ${headers?.description ?? ''}`);
      } else {
        timer.refresh();
        const streamSequence = Number(headers?.get('Nats-Sequence'));
        messages.push({ streamSequence, subject: headers?.get('Nats-Subject') ?? '', message });
      }
    }

    signal?.addEventListener('abort', onAbort, { once: true });
    connection.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(request), { reply: inbox });
  });
}

function unavailable(stream: string, why: string): BridgeError {
  return new BridgeError('LOG_UNAVAILABLE', `reading stream ${stream}: ${why}`, {
    retryAfterMs: 1_000,
  });
}
