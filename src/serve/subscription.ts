import type { SubscribeRequest } from '#gen/hep/bridge/v1/event_service_pb.js';
import { BridgeError, toBridgeError } from '../errors.js';
import { readBatchHead } from './batch-walk.js';
import type { CallContext } from './call-context.js';
import { historyGone } from './chain-check.js';
import { type Course, plotCourse } from './course.js';
import { createCursorBook } from './cursor.js';
import { createDelivery, type Delivery } from './delivery.js';
import type { LaneEntry } from './live-lane.js';
import type { Seat, WindowHold } from './live-window.js';
import { createOutbox, type Outbox, responseBytes } from './outbox.js';
import type { Outlet } from './outlet.js';
import { pause } from './pause.js';
import { describePlan, planSubscription } from './subscribe-plan.js';
import type { SubscriptionRoom } from './subscription-room.js';

/** Between two entries into the live window; a subscriber at its edge would flap otherwise. */
const rejoinMs = 1_000;

/** One subscription under way. */
interface Passage {
  readonly room: SubscriptionRoom;
  readonly course: Course;
  readonly identity: string;
  readonly delivery: Delivery;
  readonly outbox: Outbox;
  readonly signal: AbortSignal;
  /** Set while the subscriber waits in the window with nothing left. */
  idleSeat: Seat | undefined;
}

/**
 * Serves one Subscribe call: history from the log, the seam, live, and back to the log whenever the
 * client is too slow. Returns after a run's RunFinished was sent; fails with what ends the call.
 */
export async function serveSubscription(
  room: SubscriptionRoom,
  request: SubscribeRequest,
  call: CallContext,
  outlet: Outlet,
): Promise<void> {
  const plan = planSubscription(request);
  const bounds = await room.reader.bounds();
  const description = describePlan(plan, call.caller.tenant);
  const cursors = createCursorBook(room.cursorKey, bounds.identity, description);
  const course = await plotCourse(room, plan, bounds, cursors, call, outlet);
  const cursor = (): string => {
    if (passage.idleSeat !== undefined) delivery.advance(passage.idleSeat.idleUpTo());
    return cursors.write({ streamSequence: delivery.bookmark(), eventSequence: course.seen() });
  };
  const { place } = course;
  const first = cursors.write({ streamSequence: place.streamSequence, eventSequence: place.seen });
  const outbox = createOutbox(outlet, first, cursor, plan.heartbeatMs);
  const delivery = createDelivery({
    plan,
    states: course.states,
    add: outbox.add,
    reader: room.reader,
    after: place.streamSequence,
    afterSequence: place.afterSequence,
    closedTurn: course.closedTurn,
    closedUpTo: course.closedUpTo,
    signal: call.signal,
  });
  const { identity } = bounds;
  const { signal } = call;
  const passage: Passage = {
    room,
    course,
    identity,
    delivery,
    outbox,
    signal,
    idleSeat: undefined,
  };
  try {
    await sail(passage);
  } catch (thrown) {
    const error = toBridgeError(thrown);
    if (error.code === 'DRAINING') outbox.draining(error.retryAfterMs ?? 0);
    throw error;
  } finally {
    outbox.close();
  }
}

/** Returns when the run is over. */
async function sail(passage: Passage): Promise<void> {
  const { room, outbox } = passage;
  let hold: WindowHold | undefined;
  let joinedAt = -rejoinMs;
  try {
    if (await readLog(passage)) return;
    hold = await room.window.hold();
    for (;;) {
      const seat = await takeSeat(passage, hold, joinedAt + rejoinMs);
      if (seat === undefined) return;
      joinedAt = performance.now();
      try {
        await outbox.notice('caughtUp');
        if (await readLive(passage, seat)) return;
      } finally {
        seat.leave();
      }
      await outbox.notice('fellBehind');
    }
  } finally {
    hold?.release();
  }
}

/** Reads the log until there is a seat in the window; undefined if the run is over. */
async function takeSeat(
  passage: Passage,
  hold: WindowHold,
  notBefore: number,
): Promise<Seat | undefined> {
  for (;;) {
    if (await readLog(passage)) return undefined;
    const waitMs = notBefore - performance.now();
    if (waitMs > 0) {
      await pause(waitMs, passage.signal);
      continue;
    }
    const seat = hold.sit(passage.delivery.reached(), passage.course.run?.runId);
    if (seat !== undefined) return seat;
  }
}

/** Delivers what the log holds now and was not delivered yet; true if the run is over. */
async function readLog(passage: Passage): Promise<boolean> {
  const { room, course, delivery, identity, signal } = passage;
  signal.throwIfAborted();
  const bounds = await room.reader.bounds();
  if (bounds.identity !== identity) throw streamRecreated();
  let hasMore = bounds.lastStreamSequence > delivery.reached();
  if (course.run !== undefined) {
    const last = await room.reader.lastOfRun(course.run.subjectPrefix);
    if (last === undefined && course.run.finished) throw historyGone(course.run.runId, 0);
    hasMore = last !== undefined && last.streamSequence > delivery.reached();
    if (last !== undefined && !hasMore && readBatchHead(last.body).endsRun) return true;
  }
  if (hasMore) {
    const from = delivery.reached() + 1;
    for await (const messages of room.reader.read(course.filter, from, signal)) {
      const entries = messages.map((message) => ({ message, bytesBefore: 0, head: undefined }));
      if (await deliverAll(passage, entries)) return true;
      // A run that is being written has no end to reach; what came meanwhile is the window's.
      if (delivery.reached() >= bounds.lastStreamSequence) break;
    }
  }
  delivery.advance(bounds.lastStreamSequence);
  return false;
}

/** Delivers from the window; true if the run is over, false if the subscriber fell out of it. */
async function readLive(passage: Passage, seat: Seat): Promise<boolean> {
  for (;;) {
    passage.idleSeat = seat;
    const entries = await seat.next(responseBytes, passage.signal).finally(() => {
      passage.idleSeat = undefined;
    });
    if (entries === undefined) return false;
    if (await deliverAll(passage, entries)) return true;
  }
}

/** Sends what is selected of `entries`; true if the run is over. */
async function deliverAll(passage: Passage, entries: readonly LaneEntry[]): Promise<boolean> {
  const { delivery, outbox } = passage;
  for (const entry of entries) {
    const delivered = delivery.deliver(entry);
    const isOver = typeof delivered === 'boolean' ? delivered : await delivered;
    if (isOver || outbox.isFull()) await outbox.flush();
    if (isOver) return true;
  }
  await outbox.flush();
  return false;
}

function streamRecreated(): BridgeError {
  return new BridgeError(
    'STREAM_RECREATED',
    'the log was deleted and made again; subscribe from the beginning',
  );
}
