import type { ControlContext } from '../context.js';
import type { OwnedRun } from '../own/owned-run.js';
import type { RestoredRun } from '../own/restore-run.js';

/** Goes on with the cancels of a run that was taken up: those in the log, and those only stored. */
export async function resumeCancels(
  context: ControlContext,
  owned: OwnedRun,
  restored: Pick<RestoredRun, 'cancelRequests' | 'signalled'>,
): Promise<void> {
  const { cancelRequests: committed, signalled } = restored;
  owned.desk.resume(committed, signalled);
  const known = new Set(committed.map(({ order }) => order.requestId));
  for (const order of await context.cancels.list(owned.run.runId)) {
    if (known.has(order.requestId)) continue;
    // A failure of the log reaches the run's owner through `onFailure`.
    owned.desk.request(order).catch(() => undefined);
  }
}
