import { setTimeout as delay } from 'node:timers/promises';
import { type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { BridgeError } from '../errors.js';
import { connectionWatch } from './connection-watch.js';
import { commitOf, decodeMessage } from './decode-message.js';
import type { LogAccess } from './log-access.js';
import { STREAM } from './names.js';
import type { StoredMessage } from './stored-message.js';
import { findStream, streamIdentity } from './stream.js';
import { EVENT_SUBJECT_ROOT } from './subject.js';

/** Credit of the tail's consumer: what the server may send ahead of its reader. */
const CREDIT_BYTES = 8 * 1_048_576;
/** Missed twice, the consumer is made anew. */
const HEARTBEAT_MS = 2_000;
const EXPIRES_MS = 30_000;
const RETRY_MS = 250;

/** See `LogReader.tail`: one ordered pull consumer over the whole stream. */
export async function* tailStream(
  access: LogAccess,
  fromStreamSequence: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredMessage[], void, void> {
  const watch = connectionWatch(access.connection);
  let next = fromStreamSequence;
  let identity: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    if (!watch.isConnected) {
      await pause(signal);
      continue;
    }
    let messages: ConsumerMessages | undefined;
    const stop = (): void => messages?.stop();
    // The consumer may be gone with the server's memory; its own heartbeats tell seconds later.
    const unlisten = watch.listen({ reconnected: stop });
    try {
      identity ??= await currentIdentity(access);
      messages = await openConsumer(access, next);
      if (identity !== undefined) watchForRecreation(access, messages, identity);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      for await (const message of messages) {
        if (message.seq < next) throw recreated();
        next = message.seq + 1;
        const stored = storedMessage(message);
        if (stored !== undefined) yield [stored];
      }
    } catch (thrown) {
      if (thrown instanceof BridgeError) throw thrown;
      // The broker is away; where it goes on is known.
    } finally {
      unlisten();
      signal.removeEventListener('abort', stop);
      stop();
    }
    if (identity !== undefined && (await isRecreated(access, identity))) throw recreated();
    await pause(signal);
  }
}

/** Does not reject: whoever waits looks at the signal. */
async function pause(signal: AbortSignal): Promise<void> {
  await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
}

async function openConsumer(access: LogAccess, from: number): Promise<ConsumerMessages> {
  const consumer = await access.client.consumers.get(STREAM, {
    filter_subjects: `${EVENT_SUBJECT_ROOT}.>`,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(1, from),
  });
  return await consumer.consume({
    max_bytes: CREDIT_BYTES,
    idle_heartbeat: HEARTBEAT_MS,
    expires: EXPIRES_MS,
  });
}

/** A stream of the same name, made anew, would go on counting from 1. */
function watchForRecreation(access: LogAccess, messages: ConsumerMessages, identity: string): void {
  async function watch(): Promise<void> {
    for await (const { type } of messages.status()) {
      if (type !== 'ordered_consumer_recreated' && type !== 'stream_not_found') continue;
      if (await isRecreated(access, identity)) messages.stop(recreated());
    }
  }
  // What fails here fails the consumer as well.
  watch().catch(() => undefined);
}

async function currentIdentity(access: LogAccess): Promise<string | undefined> {
  const info = await findStream(access.manager);
  return info === undefined ? undefined : streamIdentity(info);
}

/** False while nobody answers. */
async function isRecreated(access: LogAccess, identity: string): Promise<boolean> {
  try {
    return (await currentIdentity(access)) !== identity;
  } catch {
    return false;
  }
}

function recreated(): BridgeError {
  return new BridgeError(
    'STREAM_RECREATED',
    `stream ${STREAM} was deleted and made again; what a cursor names is gone`,
  );
}

function storedMessage(message: JsMsg): StoredMessage | undefined {
  return decodeMessage(message.seq, message.subject, commitOf(message.headers), message.data);
}
