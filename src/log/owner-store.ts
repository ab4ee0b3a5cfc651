import type { KV } from '@nats-io/kv';
import { asUnavailable } from './as-unavailable.js';
import { createBucketReader } from './bucket-reader.js';
import { isWrongLastSequence } from './is-wrong-last-sequence.js';
import type { LogAccess } from './log-access.js';
import { OWNERS_BUCKET } from './names.js';

/** What a gateway says of itself with every heartbeat. */
export interface OwnerBeat {
  /** Stable id of its data directory. */
  readonly ownerId: string;
  /** Random for each start of a gateway. */
  readonly instance: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
}

/** A heartbeat as it stands. */
export interface OwnerEntry extends OwnerBeat {
  /** Grows with each heartbeat. */
  readonly revision: number;
}

/**
 * One heartbeat a data directory, without a lifetime: after an outage of the broker all would have
 * expired at once. All functions fail with `LOG_UNAVAILABLE`.
 */
export interface OwnerStore {
  /**
   * Writes a heartbeat on top of `revision` (0: none is there) and resolves with its own; undefined if
   * another revision stands there, or none any more.
   */
  beat(beat: OwnerBeat, revision: number): Promise<number | undefined>;
  get(ownerId: string): Promise<OwnerEntry | undefined>;
  list(): Promise<readonly OwnerEntry[]>;
  /** False if the owner has beaten since. */
  remove(ownerId: string, revision: number): Promise<boolean>;
}

export function createOwnerStore(access: LogAccess, bucket: KV): OwnerStore {
  const reader = createBucketReader(access, OWNERS_BUCKET);
  const keyOf = (ownerId: string): string => `owner.${ownerId}`;

  async function onTop<T>(what: string, write: () => Promise<T>): Promise<T | undefined> {
    return await asUnavailable(what, async () => {
      try {
        return await write();
      } catch (thrown) {
        if (isWrongLastSequence(thrown)) return undefined;
        throw thrown;
      }
    });
  }

  return {
    beat: (beat, revision) =>
      onTop('writing the heartbeat', () => {
        const key = keyOf(beat.ownerId);
        const text = JSON.stringify(beat);
        return revision === 0 ? bucket.create(key, text) : bucket.update(key, text, revision);
      }),
    async get(ownerId) {
      const entry = await reader.newest(keyOf(ownerId));
      return entry && decode(entry.value, entry.sequence);
    },
    async list() {
      const entries = await reader.matching(keyOf('*'));
      return entries
        .map(({ value, sequence }) => decode(value, sequence))
        .filter((entry) => entry !== undefined);
    },
    async remove(ownerId, revision) {
      const removed = await onTop('removing a heartbeat', async () => {
        await bucket.delete(keyOf(ownerId), { previousSeq: revision });
        return true;
      });
      return removed === true;
    },
  };
}

/** Undefined for the mark of a removed one, and for what somebody else wrote. */
function decode(text: string, revision: number): OwnerEntry | undefined {
  try {
    const beat = JSON.parse(text) as OwnerBeat;
    return typeof beat.ownerId === 'string' ? { ...beat, revision } : undefined;
  } catch {
    return undefined;
  }
}
