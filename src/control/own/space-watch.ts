import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { toBridgeError } from '../../errors.js';
import { checkSpace, spoolBytes } from '../../ingest/spool/space.js';
import { ownOrder } from '../cancel/cancel-order.js';
import type { ControlContext } from '../context.js';
import type { OwnedRun } from './owned-run.js';

const SWEEP_MS = 1_000;

/**
 * Keeps the spools within their quota and the disk above half of its reserve (starts are refused
 * below the whole of it): while either is broken, the run with the largest spool is cancelled, one a
 * sweep. Nothing is ever cut under a writer. Returns what ends the watch.
 */
export function watchSpace(context: ControlContext): () => void {
  const { dataDir, spoolQuotaBytes: quotaBytes } = context;
  const limits = { reserveBytes: Math.floor(context.reserveBytes / 2), quotaBytes };
  let isSweeping = false;

  async function sweep(): Promise<void> {
    const children = [...context.owned.values()].filter(({ kind }) => kind === 'child');
    if (children.length === 0) return;
    const { state, freeBytes, usedBytes } = await checkSpace(dataDir, limits);
    if (state === 'ok') return;
    const reason =
      state === 'over-quota'
        ? `the spools take ${usedBytes} bytes, their quota is ${quotaBytes}`
        : `${freeBytes} bytes are free on the disk, half of the reserve is ${limits.reserveBytes}`;
    const largest = await largestOf(context, children);
    if (largest === undefined) return;
    context.logger.warn({ run_id: largest.run.runId }, `cancelling the largest run: ${reason}`);
    // A failure of the log reaches the run's owner through `onFailure`.
    largest.desk.request(ownOrder(CancelCause.SPACE, 'bridge', reason)).catch(() => undefined);
  }

  const timer = setInterval(() => {
    if (isSweeping) return;
    isSweeping = true;
    sweep()
      .catch((thrown: unknown) => {
        const { code, message } = toBridgeError(thrown);
        context.logger.error({ code }, `space not checked: ${message}`);
      })
      .finally(() => {
        isSweeping = false;
      });
  }, SWEEP_MS);
  return () => clearInterval(timer);
}

/** Of the runs that nobody cancelled yet. */
async function largestOf(
  context: ControlContext,
  runs: readonly OwnedRun[],
): Promise<OwnedRun | undefined> {
  let largest: OwnedRun | undefined;
  let most = -1;
  for (const owned of runs) {
    if (owned.record.run.cancelRequested) continue;
    const bytes = await spoolBytes(context.dataDir, owned.run.runId);
    if (bytes > most) {
      largest = owned;
      most = bytes;
    }
  }
  return largest;
}
