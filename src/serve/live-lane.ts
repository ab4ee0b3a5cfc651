import type { StoredMessage } from '../log/stored-message.js';
import { type BatchHead, readBatchHead } from './batch-walk.js';

/** A message in the window. */
export interface LaneEntry {
  readonly message: StoredMessage;
  /** Bytes that came through the window before this message, since it was opened. */
  readonly bytesBefore: number;
  /** Read once, for all subscribers; undefined until one asks. */
  head: BatchHead | undefined;
}

/**
 * Entries of one run, or of all runs, in stream order. An ordinal counts the entries that ever went
 * through the lane.
 */
export interface Lane {
  /** The lane's entries from `skip` on; those before it have left the window (undefined). */
  entries: (LaneEntry | undefined)[];
  skip: number;
  /** Ordinal of the oldest entry kept. */
  base: number;
  subscribers: number;
  /** Called once when an entry arrives or the window ends. */
  waiters: Set<() => void>;
}

const compactAfter = 1024;

export function createLane(): Lane {
  return { entries: [], skip: 0, base: 0, subscribers: 0, waiters: new Set() };
}

/** Number of entries kept. */
export function keptEntries(lane: Lane): number {
  return lane.entries.length - lane.skip;
}

/** Forgets the oldest entry. */
export function dropOldest(lane: Lane): void {
  lane.entries[lane.skip] = undefined;
  lane.skip += 1;
  lane.base += 1;
  if (lane.skip < compactAfter && lane.skip < lane.entries.length) return;
  if (lane.skip * 2 < lane.entries.length) return;
  lane.entries = lane.entries.slice(lane.skip);
  lane.skip = 0;
}

/** Ordinal of the first entry after `streamSequence`. */
export function ordinalAfter(lane: Lane, streamSequence: number): number {
  let low = lane.skip;
  let high = lane.entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = lane.entries[middle];
    if (entry !== undefined && entry.message.streamSequence <= streamSequence) low = middle + 1;
    else high = middle;
  }
  return lane.base + low - lane.skip;
}

/**
 * Entries from `ordinal` on, about `maxBytes` of them, at least one if there is one; undefined if the
 * entry at `ordinal` has left the window.
 */
export function takeEntries(
  lane: Lane,
  ordinal: number,
  maxBytes: number,
): readonly LaneEntry[] | undefined {
  if (ordinal < lane.base) return undefined;
  const taken: LaneEntry[] = [];
  let bytes = 0;
  for (let at = lane.skip + ordinal - lane.base; bytes < maxBytes; at++) {
    const entry = lane.entries[at];
    if (entry === undefined) break;
    taken.push(entry);
    bytes += entry.message.body.length;
  }
  return taken;
}

/** Wakes whoever waits. */
export function wakeLane(lane: Lane): void {
  if (lane.waiters.size === 0) return;
  const waiters = lane.waiters;
  lane.waiters = new Set();
  for (const wake of waiters) wake();
}

/** The entry's head. */
export function headOf(entry: LaneEntry): BatchHead {
  entry.head ??= readBatchHead(entry.message.body);
  return entry.head;
}
