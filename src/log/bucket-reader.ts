import type { StoredMsg } from '@nats-io/jetstream';
import { BridgeError } from '../errors.js';
import type { LogAccess } from './create-log-reader.js';

export interface BucketEntry {
  readonly key: string;
  /** Position in the bucket's stream. */
  readonly sequence: number;
  readonly value: string;
}

/** Reads many entries of a key-value bucket at once, by batched direct get. */
export interface BucketReader {
  bounds(): Promise<{ readonly first: number; readonly last: number }>;
  /** The newest entry of each key that has one, in no particular order. */
  last(keys: readonly string[]): Promise<readonly BucketEntry[]>;
  /** Entries whose key matches, from `start` (inclusive) to `end` (exclusive), oldest first. */
  range(keyFilter: string, start: number, end: number): Promise<readonly BucketEntry[]>;
}

/** Keys in one request: its subjects must fit one message, its answer the server's limit of 1,024. */
const KEYS_AT_ONCE = 256;
const ENTRIES_AT_ONCE = 1_000;

export function createBucketReader({ manager }: LogAccess, bucket: string): BucketReader {
  const stream = `KV_${bucket}`;
  const prefix = `$KV.${bucket}.`;

  function toEntry(message: StoredMsg): BucketEntry {
    const key = message.subject.slice(prefix.length);
    return { key, sequence: message.seq, value: message.string() };
  }

  async function ask<T>(what: () => Promise<T>): Promise<T> {
    try {
      return await what();
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      throw new BridgeError('LOG_UNAVAILABLE', `reading bucket ${bucket}: ${text}`, {
        cause: thrown,
        retryAfterMs: 1_000,
      });
    }
  }

  return {
    async bounds() {
      const { state } = await ask(() => manager.streams.info(stream));
      return { first: state.first_seq, last: state.last_seq };
    },
    async last(keys) {
      const entries: BucketEntry[] = [];
      for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
        const subjects = keys.slice(at, at + KEYS_AT_ONCE).map((key) => `${prefix}${key}`);
        await ask(async () => {
          const found = await manager.direct.getLastMessagesFor(stream, { multi_last: subjects });
          for await (const message of found) entries.push(toEntry(message));
        });
      }
      return entries;
    },
    async range(keyFilter, start, end) {
      const entries: BucketEntry[] = [];
      const request = { batch: ENTRIES_AT_ONCE, next_by_subj: `${prefix}${keyFilter}` };
      for (let seq = start; seq < end; ) {
        const before = entries.length;
        await ask(async () => {
          const found = await manager.direct.getBatch(stream, { ...request, seq });
          for await (const message of found) {
            if (message.seq < end) entries.push(toEntry(message));
            seq = message.seq + 1;
          }
        });
        if (entries.length - before < ENTRIES_AT_ONCE) break;
      }
      return entries;
    },
  };
}
