import type { LogBounds } from '../log/log-reader.js';
import { escapeToken } from '../log/subject.js';
import type { CallContext } from './call-context.js';
import type { CursorBook } from './cursor.js';
import { closedTurnIn } from './event-batch-cut.js';
import { createOutbox } from './outbox.js';
import type { Outlet } from './outlet.js';
import type { KnownRun } from './run-lookup.js';
import { filteredRuns, newRunState, oneRun, type RunStates } from './run-states.js';
import { type Place, placeInRun, placeInStream } from './start-place.js';
import { runFilter, tenantFilter } from './subject-filter.js';
import type { SubscribePlan, Target } from './subscribe-plan.js';
import type { SubscriptionRoom } from './subscription-room.js';
import { runNotFound, waitForRun } from './wait-for-run.js';

/** A subscription made ready: what to read, from where, and what belongs to it. */
export interface Course {
  /** Subject filter for the log. */
  readonly filter: string;
  readonly place: Place;
  readonly states: RunStates;
  /** The run, if it is one. */
  readonly run: (KnownRun & { readonly runId: string }) | undefined;
  /** Last event sequence seen of the run; undefined if unknown or for a filter. */
  seen(): number | undefined;
  /** Deltas of turns up to this one are left out of history; 0 = none. */
  readonly closedTurn: number;
  /** Stream sequence where history ended when `closedTurn` was found. */
  readonly closedUpTo: number;
}

/** Fails as `placeInRun` does, and with `RUN_NOT_FOUND`. */
export async function plotCourse(
  room: SubscriptionRoom,
  plan: SubscribePlan,
  bounds: LogBounds,
  cursors: CursorBook,
  call: CallContext,
  outlet: Outlet,
): Promise<Course> {
  const { target } = plan;
  if (target.kind === 'filter') return filterCourse(room, plan, target, bounds, cursors, call);
  const { runId } = target;
  const run = await findRun(room, plan, runId, bounds, cursors, call, outlet);
  const place = await placeInRun(room.reader, bounds, runId, run, plan.start, cursors, call.signal);
  const state = newRunState(place.seen, place.streamSequence);
  const closedTurn = plan.skipClosedDeltas
    ? await highestClosedTurn(room, run.subjectPrefix, place.streamSequence, call.signal)
    : 0;
  return {
    filter: runFilter(plan, run.subjectPrefix),
    place,
    states: oneRun(runId, escapeToken(call.caller.tenant), state),
    run: { ...run, runId },
    seen: () => state.chain.main,
    closedTurn,
    closedUpTo: closedTurn > 0 ? (await room.reader.bounds()).lastStreamSequence : 0,
  };
}

function filterCourse(
  room: SubscriptionRoom,
  plan: SubscribePlan,
  target: Extract<Target, { kind: 'filter' }>,
  bounds: LogBounds,
  cursors: CursorBook,
  call: CallContext,
): Course {
  const { tenant } = call.caller;
  const tenantToken = escapeToken(tenant);
  return {
    filter: tenantFilter(plan, tenantToken, target.partitionKey),
    place: placeInStream(bounds, plan.start, cursors),
    states: filteredRuns(target, tenant, tenantToken, room.reader, room.lookupRun),
    run: undefined,
    seen: () => undefined,
    closedTurn: 0,
    closedUpTo: 0,
  };
}

async function findRun(
  room: SubscriptionRoom,
  plan: SubscribePlan,
  runId: string,
  bounds: LogBounds,
  cursors: CursorBook,
  call: CallContext,
  outlet: Outlet,
): Promise<KnownRun> {
  const lookup = (): Promise<KnownRun | undefined> => room.lookupRun(call.caller.tenant, runId);
  const run = await lookup();
  if (run !== undefined) return run;
  if (plan.waitForRunMs === 0) throw runNotFound(runId);
  const here = cursors.write({ streamSequence: bounds.lastStreamSequence, eventSequence: 0 });
  const heartbeats = createOutbox(outlet, here, () => here, plan.heartbeatMs);
  const { reader, window } = room;
  try {
    return await waitForRun(reader, window, runId, lookup, plan.waitForRunMs, call.signal);
  } finally {
    heartbeats.close();
  }
}

/**
 * Highest turn that the run has closed by now, found in one pass over its messages of class step, by tags.
 * It costs about what reading the run without deltas costs. (A terminal that came in parts is not seen;
 * then its round counts as open, until the next one closes.)
 */
async function highestClosedTurn(
  room: SubscriptionRoom,
  subjectPrefix: string,
  after: number,
  signal: AbortSignal,
): Promise<number> {
  let closed = 0;
  for await (const messages of room.reader.read(`${subjectPrefix}.step`, after + 1, signal)) {
    for (const { body } of messages) closed = Math.max(closed, closedTurnIn(body));
  }
  return closed;
}
