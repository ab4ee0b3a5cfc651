import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import { commitOf, decodeMessage } from './decode-message.js';
import { STREAM } from './names.js';
import type { StoredMessage } from './stored-message.js';

/** The next messages of a filter. */
export interface DirectBatchRequest {
  /** Stream sequence to begin at, inclusive. */
  readonly seq: number;
  readonly filter: string;
  readonly maxMessages: number;
  /** Bytes after which the server ends the batch. */
  readonly maxBytes: number;
}

const IDLE_MS = 5_000;
const END_OF_BATCH = 204;
const NO_MESSAGES = 404;

/**
 * One batched direct get: all its messages, in order; none if there is nothing more. It needs no
 * consumer, and any replica may answer. Fails with `LOG_UNAVAILABLE` if the server falls silent.
 */
export async function directBatch(
  connection: NatsConnection,
  request: DirectBatchRequest,
  signal: AbortSignal,
): Promise<readonly StoredMessage[]> {
  const inbox = createInbox();
  const messages: StoredMessage[] = [];
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => end(() => reject(signal.reason as Error));
    const onIdle = (): void => end(() => reject(unavailable(`no answer in ${IDLE_MS} ms`)));
    const timer = setTimeout(onIdle, IDLE_MS);
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) end(() => reject(unavailable(error.message)));
        else take(message);
      },
    });

    function end(settle: () => void): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      subscription.unsubscribe();
      settle();
    }

    function take(message: Msg): void {
      const { headers } = message;
      const code = headers?.code ?? 0;
      if (code === END_OF_BATCH || code === NO_MESSAGES) {
        end(() => resolve(messages));
      } else if (code !== 0) {
        end(() => reject(unavailable(`${code} ${headers?.description ?? ''}`)));
      } else {
        timer.refresh();
        const subject = headers?.get('Nats-Subject') ?? '';
        const sequence = Number(headers?.get('Nats-Sequence'));
        try {
          messages.push(decodeMessage(sequence, subject, commitOf(headers), message.data));
        } catch (thrown) {
          end(() => reject(thrown as Error));
        }
      }
    }

    signal.addEventListener('abort', onAbort, { once: true });
    const { seq, filter, maxMessages, maxBytes } = request;
    const body = { seq, next_by_subj: filter, batch: maxMessages, max_bytes: maxBytes };
    connection.publish(`$JS.API.DIRECT.GET.${STREAM}`, JSON.stringify(body), { reply: inbox });
  });
}

function unavailable(why: string): BridgeError {
  return new BridgeError('LOG_UNAVAILABLE', `reading the log: ${why}`, { retryAfterMs: 1_000 });
}
