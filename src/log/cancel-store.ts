import { JetStreamApiError } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../errors.js';

/** A cancel request as it is kept for the run's owner, also for one that adopts the run later. */
export interface StoredCancel {
  readonly runId: string;
  /** UUID; with the run id the key. */
  readonly requestId: string;
  readonly cause: CancelCause;
  readonly actor: string;
  readonly reason: string;
  /** Unix time. */
  readonly timeMs: number;
}

/** Fails with `LOG_UNAVAILABLE`. */
export interface CancelStore {
  /** False if the request was there already: then it stays as it was. */
  create(cancel: StoredCancel): Promise<boolean>;
  /** All requests of a run, oldest first. */
  list(runId: string): Promise<readonly StoredCancel[]>;
}

const WRONG_LAST_SEQUENCE = 10_071;

export function createCancelStore(bucket: KV): CancelStore {
  return {
    async create(cancel) {
      const key = `${cancel.runId}.${cancel.requestId}`;
      try {
        await bucket.create(key, JSON.stringify(cancel));
        return true;
      } catch (thrown) {
        if (thrown instanceof JetStreamApiError && thrown.code === WRONG_LAST_SEQUENCE)
          return false;
        throw unavailable('storing a cancel request', thrown);
      }
    },
    async list(runId) {
      const found: StoredCancel[] = [];
      try {
        const keys = await bucket.keys(`${runId}.*`);
        for await (const key of keys) {
          const entry = await bucket.get(key);
          if (entry !== null && entry.operation === 'PUT') found.push(entry.json<StoredCancel>());
        }
      } catch (thrown) {
        throw unavailable('reading cancel requests', thrown);
      }
      return found.sort((a, b) => a.timeMs - b.timeMs);
    },
  };
}

function unavailable(what: string, thrown: unknown): BridgeError {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new BridgeError('LOG_UNAVAILABLE', `${what}: ${text}`, {
    cause: thrown,
    retryAfterMs: 1_000,
  });
}
