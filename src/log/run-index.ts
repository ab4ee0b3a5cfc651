import type { KV } from '@nats-io/kv';
import { BridgeError } from '../errors.js';
import { asUnavailable } from './as-unavailable.js';
import {
  type BucketEntry,
  type BucketReader,
  createBucketReader,
  KEYS_AT_ONCE,
} from './bucket-reader.js';
import { isWrongLastSequence } from './is-wrong-last-sequence.js';
import type { LogAccess } from './log-access.js';
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
  /** Throws `RUN_EXISTS` if the run has a record. */
  create(record: RunRecord): Promise<void>;
  /** For a record whose run never came to be. One that another owner has meanwhile is left to that one. */
  remove(record: RunRecord): Promise<void>;
  update(record: RunRecord): Promise<void>;
  get(tenantToken: string, runId: string): Promise<RunRecord | undefined>;
  /**
   * Newest first by creation; `INVALID_REQUEST` for a page token that is none. The tenant token `*` stands
   * for all.
   */
  listNewestFirst(tenantToken: string, options: ListOptions): Promise<RunPage>;
}

/** Runs that one call of `listNewestFirst` looks at, at most. */
const MAX_SCANNED = 20_000;
/** Entries that one step back over the bucket looks at. */
const MIN_WINDOW = 256;
const MAX_WINDOW = 16_384;
/** Steps of one call, at most: most of the bucket may be another tenant's. */
const MAX_STEPS = 64;

/**
 * Two keys a run: `o.<tenant>.<run>`, written once, so that its place in the bucket's stream is the
 * run's place in time, and `r.<tenant>.<run>` for the record. A page costs what it reads, whatever
 * the number of runs.
 */
export function createRunIndex(access: LogAccess, bucket: KV): RunIndex {
  const reader: BucketReader = createBucketReader(access, RUNS_BUCKET);

  async function put(key: string, value: string): Promise<void> {
    await asUnavailable(`writing ${key}`, () => bucket.put(key, value));
  }

  async function createKey(key: string, value: string): Promise<void> {
    await asUnavailable(`writing ${key}`, async () => {
      try {
        await bucket.create(key, value);
      } catch (thrown) {
        if (!isWrongLastSequence(thrown)) throw thrown;
        throw new BridgeError('RUN_EXISTS', `${key} has a record`, { cause: thrown });
      }
    });
  }

  /** False if the key was written since `entry` was read: then it stays. */
  async function deleteKey({ key, sequence }: BucketEntry): Promise<boolean> {
    return await asUnavailable(`removing ${key}`, async () => {
      try {
        await bucket.delete(key, { previousSeq: sequence });
        return true;
      } catch (thrown) {
        if (isWrongLastSequence(thrown)) return false;
        throw thrown;
      }
    });
  }

  const orderKey = (tenantToken: string, runId: string): string => `o.${tenantToken}.${runId}`;
  const recordKey = (tenantToken: string, runId: string): string => `r.${tenantToken}.${runId}`;

  return {
    async create(record) {
      const { tenantToken, run } = record;
      await createKey(recordKey(tenantToken, run.runId), encodeRunRecord(record));
      await put(orderKey(tenantToken, run.runId), '');
    },
    async remove({ tenantToken, run }) {
      const key = recordKey(tenantToken, run.runId);
      const [entry, order] = await Promise.all([
        reader.newest(key),
        reader.newest(orderKey(tenantToken, run.runId)),
      ]);
      const stored = entry && decodeRunRecord(entry.value);
      if (entry === undefined || stored?.run.ownerId !== run.ownerId) return;
      const isRemoved = await deleteKey(entry);
      if (isRemoved && order !== undefined) await deleteKey(order);
    },
    async update(record) {
      await put(recordKey(record.tenantToken, record.run.runId), encodeRunRecord(record));
    },
    async get(tenantToken, runId) {
      const entry = await reader.newest(recordKey(tenantToken, runId));
      return entry === undefined ? undefined : decodeRunRecord(entry.value);
    },
    async listNewestFirst(tenantToken, { before, limit, match }) {
      const bounds = await reader.bounds();
      let end = bounds.last + 1;
      if (before !== undefined) end = Math.min(end, parseToken(before));
      let windowSize = MIN_WINDOW;
      let scanned = 0;
      const records: RunRecord[] = [];
      for (let steps = 0; end > bounds.first && scanned < MAX_SCANNED; steps += 1) {
        if (steps === MAX_STEPS) break;
        const start = Math.max(bounds.first, end - windowSize);
        const order = await reader.range(`o.${tenantToken}.*`, start, end);
        scanned += order.length;
        windowSize = Math.min(MAX_WINDOW, windowSize * 2);
        for (let upTo = order.length; upTo > 0; upTo -= KEYS_AT_ONCE) {
          const newest = order.slice(Math.max(0, upTo - KEYS_AT_ONCE), upTo).reverse();
          const found = await recordsOf(newest.map(({ key }) => key));
          for (const { key, sequence } of newest) {
            const record = found.get(key);
            if (record === undefined || !match(record)) continue;
            records.push(record);
            if (records.length === limit) {
              return { records, nextToken: tokenOf(sequence, bounds.first) };
            }
          }
        }
        end = start;
      }
      return { records, nextToken: tokenOf(end, bounds.first) };
    },
  };

  /** By order key; those that cannot be read are left out. */
  async function recordsOf(orderKeys: readonly string[]): Promise<Map<string, RunRecord>> {
    const found = new Map<string, RunRecord>();
    const entries = await reader.last(orderKeys.map((key) => `r.${key.slice('o.'.length)}`));
    for (const { key, value } of entries) {
      const record = decodeRunRecord(value);
      if (record !== undefined) found.set(`o.${key.slice('r.'.length)}`, record);
    }
    return found;
  }
}

/** Entries before `sequence` come next; undefined if there can be none. */
function tokenOf(sequence: number, first: number): string | undefined {
  return sequence > first ? String(sequence) : undefined;
}

function parseToken(token: string): number {
  if (/^[1-9]\d{0,15}$/.test(token)) return Number(token);
  throw new BridgeError('INVALID_REQUEST', 'page_token is none that this bridge gave out', {
    fields: [{ field: 'page_token', description: 'use next_page_token of the page before' }],
  });
}
