import type { KV } from '@nats-io/kv';
import { BridgeError } from '../errors.js';
import { type BucketReader, createBucketReader } from './bucket-reader.js';
import type { LogAccess } from './create-log-reader.js';
import { RUNS_BUCKET } from './names.js';
import { decodeRunRecord, encodeRunRecord, type RunRecord } from './run-record.js';

export interface ListOptions {
  /** `nextToken` of the page before. */
  readonly before?: string;
  /** Records a page, at most. */
  readonly limit: number;
  readonly match: (record: RunRecord) => boolean;
}

export interface RunPage {
  readonly records: readonly RunRecord[];
  /** Undefined at the end. A page may be short, or empty, and still not be the last. */
  readonly nextToken: string | undefined;
}

/** The projection of all runs. All functions fail with `LOG_UNAVAILABLE`. */
export interface RunIndex {
  create(record: RunRecord): Promise<void>;
  update(record: RunRecord): Promise<void>;
  get(tenantToken: string, runId: string): Promise<RunRecord | undefined>;
  /** Newest first by creation; `INVALID_REQUEST` for a token that is none. */
  listNewestFirst(tenantToken: string, options: ListOptions): Promise<RunPage>;
}

/** Runs that one call of `listNewestFirst` looks at, at most. */
const MAX_SCANNED = 20_000;
/** Entries that one step back over the bucket looks at. */
const MIN_WINDOW = 256;
const MAX_WINDOW = 16_384;

/**
 * Two keys a run: `o.<tenant>.<run>`, written once, so that its place in the bucket's stream is the
 * run's place in time, and `r.<tenant>.<run>` for the record. A page costs what it reads, whatever
 * the number of runs.
 */
export function createRunIndex(access: LogAccess, bucket: KV): RunIndex {
  const reader: BucketReader = createBucketReader(access, RUNS_BUCKET);

  async function put(key: string, value: string): Promise<void> {
    try {
      await bucket.put(key, value);
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      throw new BridgeError('LOG_UNAVAILABLE', `writing ${key}: ${text}`, {
        cause: thrown,
        retryAfterMs: 1_000,
      });
    }
  }

  const recordKey = (tenantToken: string, runId: string): string => `r.${tenantToken}.${runId}`;

  return {
    async create(record) {
      const { runId } = record.run;
      await put(recordKey(record.tenantToken, runId), encodeRunRecord(record));
      await put(`o.${record.tenantToken}.${runId}`, '');
    },
    async update(record) {
      await put(recordKey(record.tenantToken, record.run.runId), encodeRunRecord(record));
    },
    async get(tenantToken, runId) {
      const [entry] = await reader.last([recordKey(tenantToken, runId)]);
      return entry === undefined ? undefined : decodeRunRecord(entry.value);
    },
    async listNewestFirst(tenantToken, { before, limit, match }) {
      const bounds = await reader.bounds();
      let end = before === undefined ? bounds.last + 1 : parseToken(before);
      let window = MIN_WINDOW;
      let scanned = 0;
      const records: RunRecord[] = [];
      while (end > bounds.first && scanned < MAX_SCANNED) {
        const start = Math.max(bounds.first, end - window);
        const order = await reader.range(`o.${tenantToken}.*`, start, end);
        scanned += order.length;
        window = Math.min(MAX_WINDOW, window * 2);
        const keys = order.map(({ key }) => `r.${key.slice('o.'.length)}`);
        const found = new Map((await reader.last(keys)).map(({ key, value }) => [key, value]));
        for (let at = order.length - 1; at >= 0; at -= 1) {
          const entry = order[at];
          const record = decodeRunRecord(found.get(keys[at] ?? '') ?? '');
          if (entry === undefined || record === undefined || !match(record)) continue;
          records.push(record);
          if (records.length === limit) {
            const isMore = entry.sequence > bounds.first;
            return { records, nextToken: isMore ? String(entry.sequence) : undefined };
          }
        }
        end = start;
      }
      return { records, nextToken: end > bounds.first ? String(end) : undefined };
    },
  };
}

function parseToken(token: string): number {
  if (/^[1-9]\d{0,15}$/.test(token)) return Number(token);
  throw new BridgeError('INVALID_REQUEST', 'page_token is none that this bridge gave out', {
    fields: [{ field: 'page_token', description: 'use next_page_token of the page before' }],
  });
}
