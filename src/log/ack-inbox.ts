import {
  createInbox,
  errors,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from '@nats-io/transport-node';
import { connectionWatch } from './connection-watch.js';

/** How the server answered a publish. */
export type Ack =
  | { readonly kind: 'stored'; readonly streamSequence: number }
  | { readonly kind: 'refused'; readonly code: number; readonly description: string }
  /** Nothing is known: no answer in time, no responder, a cut connection. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** It was not sent: there is no connection. */
  | { readonly kind: 'unsent'; readonly why: string };

/** Publishes to the log and matches the acknowledgements, with one subscription for all writers. */
export interface AckInbox {
  readonly isConnected: boolean;
  /** The payload belongs to the connection until it is flushed: never write to it again. */
  publish(subject: string, payload: Uint8Array, headers: MsgHdrs, timeoutMs: number): Promise<Ack>;
}

interface Waiting {
  readonly subject: string;
  readonly resolve: (ack: Ack) => void;
  readonly timer: NodeJS.Timeout;
}

/** The server's code for a message that does not fit; the client refuses most of them itself. */
export const MESSAGE_TOO_LARGE = 10_054;
const NO_RESPONDERS = 503;

/**
 * `js.publish` costs a request with its own bookkeeping a message; this is one map look-up. The
 * subscription ends with the connection.
 */
export function createAckInbox(connection: NatsConnection): AckInbox {
  const inbox = createInbox();
  const watch = connectionWatch(connection);
  const waiting = new Map<string, Waiting>();
  let next = 0;

  function settle(token: string, ack: Ack): void {
    const waiter = waiting.get(token);
    if (waiter === undefined) return;
    waiting.delete(token);
    clearTimeout(waiter.timer);
    waiter.resolve(ack);
  }

  connection.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (error === null) settle(message.subject.slice(inbox.length + 1), parseAck(message));
    },
  });
  watch.listen({
    disconnected() {
      for (const token of waiting.keys()) settle(token, { kind: 'unknown', why: 'disconnected' });
    },
    publishRefused(subject) {
      const why = `NATS does not permit this user to publish to ${subject}`;
      for (const [token, waiter] of waiting) {
        if (waiter.subject === subject) settle(token, { kind: 'unknown', why });
      }
    },
  });

  return {
    get isConnected() {
      return watch.isConnected;
    },
    publish(subject, payload, headers, timeoutMs) {
      // The client would keep what is published while it is disconnected, without a limit.
      if (!watch.isConnected) {
        return Promise.resolve({ kind: 'unsent', why: 'no connection to NATS' });
      }
      const token = (next++).toString(36);
      return new Promise((resolve) => {
        const timer = setTimeout(
          () => settle(token, { kind: 'unknown', why: `no answer in ${timeoutMs} ms` }),
          timeoutMs,
        );
        waiting.set(token, { subject, resolve, timer });
        try {
          connection.publish(subject, payload, { reply: `${inbox}.${token}`, headers });
        } catch (thrown) {
          settle(token, unpublished(thrown));
        }
      });
    },
  };
}

function unpublished(thrown: unknown): Ack {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  // The only argument that depends on the caller is the payload's size.
  return thrown instanceof errors.InvalidArgumentError
    ? { kind: 'refused', code: MESSAGE_TOO_LARGE, description: why }
    : { kind: 'unknown', why };
}

/** Of the answer's JSON, `{"stream":"HEP","seq":7}` or `{"error":{...}}`. */
function parseAck(message: Msg): Ack {
  if (message.data.length === 0 && message.headers?.code === NO_RESPONDERS) {
    return { kind: 'unknown', why: 'no stream answers (503)' };
  }
  try {
    const { seq, error } = message.json<{
      seq?: number;
      error?: { code?: number; err_code?: number; description?: string };
    }>();
    if (error !== undefined) {
      const { err_code: code = 0, description = '' } = error;
      return { kind: 'refused', code, description };
    }
    if (typeof seq === 'number' && seq > 0) return { kind: 'stored', streamSequence: seq };
  } catch {
    // Falls through: an answer that says nothing.
  }
  return { kind: 'unknown', why: 'an answer that is no acknowledgement' };
}
