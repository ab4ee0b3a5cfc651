import { toBridgeError } from '../../errors.js';
import { listSpools } from '../../ingest/spool/run-spool.js';
import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import { endRunsOf } from './reap-owner.js';

/** Time after which a look that failed is repeated. */
const AGAIN_MS = 1_000;

/**
 * Ends what stands in this gateway's own name and what neither its spool nor its ledger knows, and what it
 * does not have, such as a start that was cut before anything was in the log.
 */
export async function endStrayRuns(context: ControlContext): Promise<void> {
  const { owned, claiming, ingestTakeUps, strays } = context;
  strays.dueMs = Number.POSITIVE_INFINITY;
  try {
    // One that could not be taken up waits for the next start.
    const ledger = await context.ingestLedger.list();
    const waiting = new Set([
      ...(await listSpools(context.dataDir)),
      ...ledger.map(({ run }) => run.runId),
    ]);
    // A start, or a client that comes here with its run, may be faster.
    const isStray = ({ run: { runId } }: RunRecord): boolean =>
      !waiting.has(runId) && !owned.has(runId) && !claiming.has(runId) && !ingestTakeUps.has(runId);
    const why = 'its gateway has nothing of it: a start or a take-over was cut short';
    await endRunsOf(context, context.ownerId, why, async () => true, isStray);
  } catch (thrown) {
    strays.dueMs = performance.now() + AGAIN_MS;
    const { code, message } = toBridgeError(thrown);
    if (context.stopping.aborted) return;
    context.logger.warn({ code }, `stray runs not looked for: ${message}`);
  }
}
