import type { OwnerEntry } from '../../log/owner-store.js';

/** Tells which owners are silent; see `createOwnerWatch`. */
export interface OwnerWatch {
  /** One look at all heartbeats; `nowMs` is monotonic. Returns the owners that have lost their runs. */
  observe(nowMs: number, entries: readonly OwnerEntry[]): readonly OwnerEntry[];
  /** How long an owner has been silent under this one's eyes; undefined if it has no heartbeat. */
  silentMs(ownerId: string): number | undefined;
}

export interface OwnerWatchOptions {
  readonly lostAfterMs: number;
  /** Time between two looks, beyond which the one before does not count: nobody watched meanwhile. */
  readonly maxGapMs: number;
}

/**
 * An owner is lost when its heartbeat stood still for `lostAfterMs` of this observer's own time, and
 * that time counts only from one look to the next. So an outage of the broker, in which no gateway
 * can look or beat, and a pause of the observer itself make nobody lost.
 */
export function createOwnerWatch({ lostAfterMs, maxGapMs }: OwnerWatchOptions): OwnerWatch {
  let seen = new Map<string, { readonly revision: number; readonly silentMs: number }>();
  let lastMs: number | undefined;

  return {
    observe(nowMs, entries) {
      const gapMs = lastMs === undefined ? Number.POSITIVE_INFINITY : nowMs - lastMs;
      lastMs = nowMs;
      const next: typeof seen = new Map();
      const lost: OwnerEntry[] = [];
      for (const entry of entries) {
        const before = seen.get(entry.ownerId);
        const isSilent = before?.revision === entry.revision && gapMs <= maxGapMs;
        const silentMs = isSilent ? before.silentMs + gapMs : 0;
        next.set(entry.ownerId, { revision: entry.revision, silentMs });
        if (silentMs >= lostAfterMs) lost.push(entry);
      }
      seen = next;
      return lost;
    },
    silentMs: (ownerId) => seen.get(ownerId)?.silentMs,
  };
}
