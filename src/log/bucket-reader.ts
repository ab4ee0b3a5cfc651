import { asUnavailable } from './as-unavailable.js';
import { type DirectGet, type DirectMessage, directGet } from './direct-get.js';
import type { LogAccess } from './log-access.js';

export interface BucketEntry {
  readonly key: string;
  /** Position in the bucket's stream. */
  readonly sequence: number;
  readonly value: string;
}

/** Reads a key-value bucket in ways that its client does not offer; fails with `LOG_UNAVAILABLE`. */
export interface BucketReader {
  /** Positions of the oldest and the newest entry; `last` is less than `first` in an empty bucket. */
  bounds(): Promise<{ readonly first: number; readonly last: number }>;
  /** A key's newest entry, from the leader: what was written before is seen. */
  newest(key: string): Promise<BucketEntry | undefined>;
  /** All newest entries whose key matches, from the leader, one request an entry: for a few. */
  matching(keyFilter: string): Promise<readonly BucketEntry[]>;
  /**
   * The newest entry of each key that has one, in no particular order; from any replica. At most
   * `KEYS_AT_ONCE` keys.
   */
  last(keys: readonly string[]): Promise<readonly BucketEntry[]>;
  /** Entries whose key matches, from `start` (inclusive) to `end` (exclusive), oldest first. */
  range(keyFilter: string, start: number, end: number): Promise<readonly BucketEntry[]>;
}

/** Keys in one request: its subjects must fit one message, its answer the server's limit of 1,024. */
export const KEYS_AT_ONCE = 256;
const ENTRIES_AT_ONCE = 1_000;

export function createBucketReader(access: LogAccess, bucket: string): BucketReader {
  const { connection, manager } = access;
  const stream = `KV_${bucket}`;
  const prefix = `$KV.${bucket}.`;
  const what = `reading bucket ${bucket}`;

  function toEntry({ subject, streamSequence, message }: DirectMessage): BucketEntry {
    return { key: subject.slice(prefix.length), sequence: streamSequence, value: message.string() };
  }

  const get = (request: DirectGet): Promise<readonly DirectMessage[]> =>
    directGet(connection, stream, request);

  async function fromLeader(
    query:
      | { readonly last_by_subj: string }
      | { readonly seq: number; readonly next_by_subj: string },
  ): Promise<BucketEntry | undefined> {
    const message = await asUnavailable(what, () => manager.streams.getMessage(stream, query));
    if (message === null) return undefined;
    const key = message.subject.slice(prefix.length);
    return { key, sequence: message.seq, value: message.string() };
  }

  return {
    async bounds() {
      const { state } = await asUnavailable(what, () => manager.streams.info(stream));
      return { first: state.first_seq, last: state.last_seq };
    },
    newest: (key) => fromLeader({ last_by_subj: `${prefix}${key}` }),
    async matching(keyFilter) {
      const entries: BucketEntry[] = [];
      for (let seq = 1; ; ) {
        const entry = await fromLeader({ seq, next_by_subj: `${prefix}${keyFilter}` });
        if (entry === undefined) return entries;
        entries.push(entry);
        seq = entry.sequence + 1;
      }
    },
    async last(keys) {
      if (keys.length === 0) return [];
      const subjects = keys.map((key) => `${prefix}${key}`);
      return (await get({ multi_last: subjects, batch: subjects.length })).map(toEntry);
    },
    async range(keyFilter, start, end) {
      const entries: BucketEntry[] = [];
      for (let seq = start; seq < end; ) {
        const batch = Math.min(ENTRIES_AT_ONCE, end - seq);
        const found = await get({ seq, next_by_subj: `${prefix}${keyFilter}`, batch });
        const last = found.at(-1);
        if (last === undefined) break;
        for (const message of found) {
          if (message.streamSequence < end) entries.push(toEntry(message));
        }
        seq = last.streamSequence + 1;
      }
      return entries;
    },
  };
}
