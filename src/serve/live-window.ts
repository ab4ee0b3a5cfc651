import { BridgeError, toBridgeError } from '../errors.js';
import type { LogReader } from '../log/log-reader.js';
import type { StoredMessage } from '../log/stored-message.js';
import {
  createLane,
  dropOldest,
  keptEntries,
  type Lane,
  type LaneEntry,
  ordinalAfter,
  takeEntries,
  wakeLane,
} from './live-lane.js';

/** Limits of the window; what is older is read from the log. */
export interface WindowLimits {
  /** Default 16 MiB of bodies. */
  readonly maxBytes: number;
  /** Default 65,536. */
  readonly maxMessages: number;
}

/** One subscriber's place in the window. */
export interface Seat {
  /**
   * The next entries, about `maxBytes` of them, waiting for one; undefined if the subscriber fell out
   * of the window. Fails as the tail failed, or with the signal's reason.
   */
  next(maxBytes: number, signal: AbortSignal): Promise<readonly LaneEntry[] | undefined>;
  /** Newest stream sequence up to which this seat has nothing left; 0 if there is something left. */
  idleUpTo(): number;
  leave(): void;
}

/** The gateway's live tail, which all subscribers share. */
export interface LiveWindow {
  /** Keeps the tail running until `release`; starts it if this is the first. */
  hold(): Promise<WindowHold>;
  /** Subscribers that hold the window. */
  holders(): number;
}

/** A claim on the running tail. */
export interface WindowHold {
  /**
   * A seat after `streamSequence` (everything up to there was delivered otherwise) for one run, or for
   * all; undefined if it is not, or not well, inside the window: then read the log a while longer.
   */
  sit(streamSequence: number, runId: string | undefined): Seat | undefined;
  release(): void;
}

interface Tail {
  readonly all: Lane;
  readonly runs: Map<string, Lane>;
  /** All messages after this stream sequence are in the window, or still to come. */
  coversAfter: number;
  /** Newest stream sequence that arrived. */
  newest: number;
  bytesIn: number;
  bytesKept: number;
  failure: BridgeError | undefined;
  readonly stop: AbortController;
  /** Settles when no more messages come; never rejects. */
  ended: Promise<void>;
  /** Lanes with entries that their waiters were not told of, and the timer that tells them. */
  readonly fresh: Set<Lane>;
  wake: NodeJS.Immediate | undefined;
}

/** A window over `reader`'s tail; the tail runs only while somebody holds the window. */
export function createLiveWindow(reader: LogReader, limits: WindowLimits): LiveWindow {
  let holders = 0;
  let current: Promise<Tail> | undefined;
  const hold = async (): Promise<WindowHold> => {
    holders += 1;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      holders -= 1;
      if (holders > 0) return;
      const last = current;
      current = undefined;
      void last?.then(stopTail, ignore);
    };
    const mine = current ?? startTail(reader, limits);
    current = mine;
    try {
      const tail = await mine;
      // After a failure the next subscriber starts afresh; those that sit here are told.
      void tail.ended.then(() => {
        if (current === mine) current = undefined;
      });
      return { sit: (after, runId) => sit(tail, limits, after, runId), release };
    } catch (thrown) {
      if (current === mine) current = undefined;
      release();
      throw thrown;
    }
  };
  return { hold, holders: () => holders };
}

async function startTail(reader: LogReader, limits: WindowLimits): Promise<Tail> {
  const { lastStreamSequence: coversAfter } = await reader.bounds();
  const tail: Tail = {
    all: createLane(),
    runs: new Map(),
    coversAfter,
    newest: coversAfter,
    bytesIn: 0,
    bytesKept: 0,
    failure: undefined,
    stop: new AbortController(),
    ended: Promise.resolve(),
    fresh: new Set(),
    wake: undefined,
  };
  tail.ended = follow(reader, limits, tail);
  return tail;
}

async function follow(reader: LogReader, limits: WindowLimits, tail: Tail): Promise<void> {
  try {
    for await (const messages of reader.tail(tail.coversAfter + 1, tail.stop.signal)) {
      for (const message of messages) append(tail, limits, message);
      tail.wake ??= setImmediate(wakeFresh, tail);
    }
    tail.failure = new BridgeError('LOG_UNAVAILABLE', 'the live tail of the log ended');
  } catch (thrown) {
    tail.failure = toBridgeError(thrown);
  }
  wakeLane(tail.all);
  for (const lane of tail.runs.values()) wakeLane(lane);
}

/** Once for all that one read from the socket brought: fewer, bigger responses for the same latency. */
function wakeFresh(tail: Tail): void {
  tail.wake = undefined;
  wakeLane(tail.all);
  for (const lane of tail.fresh) wakeLane(lane);
  tail.fresh.clear();
}

function append(tail: Tail, limits: WindowLimits, message: StoredMessage): void {
  const entry: LaneEntry = { message, bytesBefore: tail.bytesIn, head: undefined };
  const run = runLane(tail, message.runId);
  tail.all.entries.push(entry);
  run.entries.push(entry);
  tail.newest = message.streamSequence;
  tail.bytesIn += message.body.length;
  tail.bytesKept += message.body.length;
  while (tail.bytesKept > limits.maxBytes || keptEntries(tail.all) > limits.maxMessages) {
    evictOldest(tail);
  }
  if (run.waiters.size > 0) tail.fresh.add(run);
}

function evictOldest(tail: Tail): void {
  const oldest = tail.all.entries[tail.all.skip]?.message;
  if (oldest === undefined) return;
  tail.coversAfter = oldest.streamSequence;
  tail.bytesKept -= oldest.body.length;
  dropOldest(tail.all);
  const run = tail.runs.get(oldest.runId);
  if (run === undefined) return;
  dropOldest(run);
  forgetIfUnused(tail, oldest.runId, run);
}

function sit(
  tail: Tail,
  limits: WindowLimits,
  after: number,
  runId: string | undefined,
): Seat | undefined {
  if (tail.failure !== undefined) throw tail.failure;
  if (after < tail.coversAfter) return undefined;
  const behind = ordinalAfter(tail.all, after);
  const first = tail.all.entries[tail.all.skip + behind - tail.all.base];
  const bytesBehind = first === undefined ? 0 : tail.bytesIn - first.bytesBefore;
  const messagesBehind = keptEntries(tail.all) - (behind - tail.all.base);
  if (bytesBehind * 2 > limits.maxBytes || messagesBehind * 2 > limits.maxMessages) {
    return undefined;
  }
  const lane = runId === undefined ? tail.all : runLane(tail, runId);
  lane.subscribers += 1;
  return seatIn(tail, lane, ordinalAfter(lane, after), runId);
}

function seatIn(tail: Tail, lane: Lane, start: number, runId: string | undefined): Seat {
  let ordinal = start;
  return {
    next: async (maxBytes, signal) => {
      for (;;) {
        signal.throwIfAborted();
        const entries = takeEntries(lane, ordinal, maxBytes);
        if (entries === undefined) return undefined;
        if (entries.length > 0) {
          ordinal += entries.length;
          return entries;
        }
        if (tail.failure !== undefined) throw tail.failure;
        await arrival(lane, signal);
      }
    },
    idleUpTo: () => (ordinal === lane.base + keptEntries(lane) ? tail.newest : 0),
    leave: () => {
      lane.subscribers -= 1;
      if (runId !== undefined) forgetIfUnused(tail, runId, lane);
    },
  };
}

function arrival(lane: Lane, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      signal.removeEventListener('abort', wake);
      lane.waiters.delete(wake);
      resolve();
    };
    lane.waiters.add(wake);
    signal.addEventListener('abort', wake);
  });
}

function runLane(tail: Tail, runId: string): Lane {
  let lane = tail.runs.get(runId);
  if (lane === undefined) {
    lane = createLane();
    tail.runs.set(runId, lane);
  }
  return lane;
}

function forgetIfUnused(tail: Tail, runId: string, lane: Lane): void {
  if (lane.subscribers === 0 && keptEntries(lane) === 0) tail.runs.delete(runId);
}

function stopTail(tail: Tail): void {
  tail.stop.abort(new BridgeError('CANCELLED', 'no live subscriber is left'));
}

function ignore(): void {}
