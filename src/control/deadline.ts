import { v4 as uuidv4 } from 'uuid';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import type { ControlContext } from './context.js';
import type { OwnedRun } from './owned-run.js';

/** The longest time that one timer of Node can wait. */
const MAX_TIMER_MS = 2_147_483_647;

/** Cancels the run with cause DEADLINE once `deadlineMs` have passed since its creation. */
export function armDeadline(
  context: ControlContext,
  owned: OwnedRun,
  deadlineMs: number | undefined,
): void {
  if (deadlineMs === undefined) return;
  const createdMs = Number(owned.record.run.createTime?.seconds ?? 0n) * 1_000;
  const leftMs = Math.min(MAX_TIMER_MS, Math.max(0, createdMs + deadlineMs - Date.now()));
  const timer = setTimeout(() => {
    const order = {
      requestId: uuidv4(),
      cause: CancelCause.DEADLINE,
      actor: '',
      reason: `the deadline of ${deadlineMs} ms passed`,
    };
    // A failure of the log reaches the run's owner through `onFailure`.
    owned.desk.request(order).catch(() => undefined);
  }, leftMs);
  const disarm = (): void => clearTimeout(timer);
  context.stopping.addEventListener('abort', disarm, { once: true });
  void owned.closed.then(() => {
    disarm();
    context.stopping.removeEventListener('abort', disarm);
  });
}
