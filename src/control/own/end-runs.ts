import { setTimeout as delay } from 'node:timers/promises';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { ownOrder } from '../cancel/cancel-order.js';
import type { ControlContext } from '../context.js';

/** Time beyond the graces for the last frames, the exit and the commits. */
const SETTLE_MS = 5_000;

/**
 * Cancels the agents of this gateway, with cause SHUTDOWN, and waits for the ends of their runs, at
 * most as long as the longest escalation takes. Runs that come through Ingest belong to their
 * clients, which go on with another gateway or the next one.
 */
export async function endRuns(context: ControlContext): Promise<void> {
  const children = [...context.owned.values()].filter(({ kind }) => kind === 'child');
  if (children.length === 0) return;
  for (const { desk } of children) {
    const order = ownOrder(CancelCause.SHUTDOWN, 'bridge', 'the bridge is shutting down');
    // A failure of the log reaches the run's owner through `onFailure`.
    desk.request(order).catch(() => undefined);
  }
  const closed = Promise.all(children.map((owned) => owned.closed));
  const patience = new AbortController();
  const limitMs = context.interruptGraceMs + context.terminateGraceMs + SETTLE_MS;
  const timeout = delay(limitMs, undefined, { signal: patience.signal }).catch(() => undefined);
  await Promise.race([closed, timeout]);
  patience.abort();
}
