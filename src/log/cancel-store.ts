import type { KV } from '@nats-io/kv';
import type { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { asUnavailable } from './as-unavailable.js';
import { createBucketReader } from './bucket-reader.js';
import { isWrongLastSequence } from './is-wrong-last-sequence.js';
import type { LogAccess } from './log-access.js';
import { CANCELS_BUCKET } from './names.js';

/** A cancel request as it is kept for the run's owner, also for one that adopts the run later. */
export interface StoredCancel {
  readonly runId: string;
  /** UUID; with the run id the key. */
  readonly requestId: string;
  readonly cause: CancelCause;
  readonly actor: string;
  readonly reason: string;
  readonly force?: boolean;
  readonly interruptGraceMs?: number;
  readonly terminateGraceMs?: number;
  /** Unix time. */
  readonly timeMs: number;
}

/** Fails with `LOG_UNAVAILABLE`. */
export interface CancelStore {
  /** False if the request was there already: then it stays as it was. */
  create(cancel: StoredCancel): Promise<boolean>;
  /** All requests of a run, oldest first; sees whatever was created before. */
  list(runId: string): Promise<readonly StoredCancel[]>;
}

export function createCancelStore(access: LogAccess, bucket: KV): CancelStore {
  const reader = createBucketReader(access, CANCELS_BUCKET);
  return {
    create: (cancel) =>
      asUnavailable('storing a cancel request', async () => {
        try {
          await bucket.create(`${cancel.runId}.${cancel.requestId}`, JSON.stringify(cancel));
          return true;
        } catch (thrown) {
          if (isWrongLastSequence(thrown)) return false;
          throw thrown;
        }
      }),
    async list(runId) {
      const entries = await reader.matching(`${runId}.*`);
      return entries.map(({ value }) => decode(value)).filter((cancel) => cancel !== undefined);
    },
  };
}

/** Undefined for what somebody else wrote or deleted. */
function decode(text: string): StoredCancel | undefined {
  try {
    const value = JSON.parse(text) as StoredCancel;
    return typeof value.requestId === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
