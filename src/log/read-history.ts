import { setTimeout as delay } from 'node:timers/promises';
import { BridgeError } from '../errors.js';
import { commitOf, decodeMessage } from './decode-message.js';
import { directGet } from './direct-get.js';
import { readLastMessage } from './last-message.js';
import type { LogAccess } from './log-access.js';
import { STREAM } from './names.js';
import type { StoredMessage } from './stored-message.js';

/** What one request brought. */
interface Stretch {
  readonly messages: readonly StoredMessage[];
  /** Stream sequence to go on from; undefined if the server had nothing more. */
  readonly next: number | undefined;
}

/** Each request costs the server a count of all that is pending: few and big ones. */
const READ_MESSAGES = 2_048;
const READ_BYTES = 1_048_576;
const LAG_MS = 20;
/** Longer than any follower lags that is still of use. */
const MAX_LAG_MS = 10_000;
const RETRY_MS = 250;
const MAX_RETRY_MS = 60_000;

/** See `LogReader.read`: batched direct gets, one ahead of the consumer. */
export async function* readHistory(
  access: LogAccess,
  filter: string,
  fromStreamSequence: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredMessage[], void, void> {
  const { connection, manager } = access;
  let hasLeft = false;

  /** Asks again while NATS is away, for a minute; then fails as the last attempt did. */
  async function whileAway<T>(ask: () => Promise<T>): Promise<T> {
    for (const startedAt = performance.now(); ; ) {
      signal.throwIfAborted();
      try {
        return await ask();
      } catch (thrown) {
        const isAway = thrown instanceof BridgeError && thrown.code === 'LOG_UNAVAILABLE';
        const isOver = hasLeft || performance.now() - startedAt > MAX_RETRY_MS;
        if (!isAway || isOver) throw thrown;
      }
      await pause(RETRY_MS, signal);
    }
  }

  async function readFrom(seq: number): Promise<Stretch> {
    const request = {
      seq,
      next_by_subj: filter,
      batch: READ_MESSAGES,
      max_bytes: READ_BYTES,
    };
    const found = await whileAway(() => directGet(connection, STREAM, request, signal));
    const messages: StoredMessage[] = [];
    for (const { streamSequence, subject, message } of found) {
      const commit = commitOf(message.headers);
      const stored = decodeMessage(streamSequence, subject, commit, message.data);
      if (stored !== undefined) messages.push(stored);
    }
    const last = found.at(-1);
    return { messages, next: last === undefined ? undefined : last.streamSequence + 1 };
  }

  try {
    let next = fromStreamSequence;
    let stretch = await readFrom(next);
    for (let laggedMs = 0; ; ) {
      if (stretch.next === undefined) {
        // A follower that lags behind would end the history too early.
        const newest = await whileAway(() => readLastMessage(manager, filter));
        if (newest === undefined || newest.streamSequence < next) return;
        if (laggedMs > MAX_LAG_MS) throw unreadable(next, newest.streamSequence);
        await pause(LAG_MS, signal);
        laggedMs += LAG_MS;
        stretch = await readFrom(next);
        continue;
      }
      laggedMs = 0;
      next = stretch.next;
      const ahead = readFrom(next);
      // Whoever leaves the iteration early does not hear of it.
      ahead.catch(() => undefined);
      if (stretch.messages.length > 0) yield stretch.messages;
      stretch = await ahead;
    }
  } finally {
    hasLeft = true;
  }
}

/** Rejects with the signal's own reason. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  signal.throwIfAborted();
}

function unreadable(next: number, newest: number): BridgeError {
  return new BridgeError(
    'LOG_UNAVAILABLE',
    `the leader of stream ${STREAM} holds message ${newest}, but what follows ${next - 1} cannot be ` +
      'read; look at the replicas of the stream',
    { retryAfterMs: 5_000 },
  );
}
