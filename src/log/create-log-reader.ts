import { setTimeout as delay } from 'node:timers/promises';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BridgeError, toBridgeError } from '../errors.js';
import { decodeMessage } from './decode-message.js';
import { directBatch } from './direct-batch.js';
import { readLastMessage } from './last-message.js';
import type { LogReader } from './log-reader.js';
import type { StoredMessage } from './stored-message.js';
import { findStream, streamIdentity } from './stream.js';
import { tailStream } from './tail-stream.js';

export interface LogAccess {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
}

const READ_MESSAGES = 512;
const READ_BYTES = 1_048_576;
const LAG_MS = 20;
const RETRY_MS = 250;
const MAX_RETRIES = 60;

export function createLogReader(access: LogAccess): LogReader {
  const { connection, manager } = access;

  /** One batch, asked for again while NATS is away; gives up with `LOG_UNAVAILABLE`. */
  async function batch(
    filter: string,
    seq: number,
    signal: AbortSignal,
  ): Promise<readonly StoredMessage[]> {
    for (let retries = 0; ; retries += 1) {
      signal.throwIfAborted();
      try {
        const limits = { maxMessages: READ_MESSAGES, maxBytes: READ_BYTES };
        return await directBatch(connection, { seq, filter, ...limits }, signal);
      } catch (thrown) {
        const error = toBridgeError(thrown);
        if (signal.aborted || error.code !== 'LOG_UNAVAILABLE' || retries === MAX_RETRIES) {
          throw thrown;
        }
        await delay(RETRY_MS, undefined, { signal });
      }
    }
  }

  async function* read(
    filter: string,
    fromStreamSequence: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredMessage[], void, void> {
    let next = fromStreamSequence;
    let messages = await batch(filter, next, signal);
    for (;;) {
      const last = messages.at(-1);
      if (last === undefined) {
        // A follower that lags behind would end the history too early.
        const newest = await readLastMessage(manager, filter);
        if (newest === undefined || newest.streamSequence < next) return;
        await delay(LAG_MS, undefined, { signal });
        messages = await batch(filter, next, signal);
        continue;
      }
      next = last.streamSequence + 1;
      const ahead = batch(filter, next, signal);
      // Whoever leaves the iteration early does not hear of it.
      ahead.catch(() => undefined);
      yield messages;
      messages = await ahead;
    }
  }

  return {
    async bounds() {
      const info = await asUnavailable(findStream(manager));
      if (info === undefined) {
        throw new BridgeError('LOG_UNAVAILABLE', 'the stream is gone; restart the bridge');
      }
      return {
        identity: streamIdentity(info),
        firstStreamSequence: info.state.first_seq,
        lastStreamSequence: info.state.last_seq,
      };
    },
    async lastOfRun(subjectPrefix) {
      const last = await readLastMessage(manager, `${subjectPrefix}.*`);
      if (last === undefined) return undefined;
      return decodeMessage(last.streamSequence, last.subject, last.commit, last.body);
    },
    async firstOfRun(subjectPrefix) {
      const request = {
        seq: 1,
        filter: `${subjectPrefix}.*`,
        maxMessages: 1,
        maxBytes: READ_BYTES,
      };
      const [first] = await directBatch(connection, request, new AbortController().signal);
      return first;
    },
    read,
    tail: (fromStreamSequence, signal) => tailStream(access, fromStreamSequence, signal),
  };
}

async function asUnavailable<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BridgeError('LOG_UNAVAILABLE', `NATS does not answer: ${text}`, {
      cause: thrown,
      retryAfterMs: 1_000,
    });
  }
}
