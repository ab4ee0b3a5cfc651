import { toBridgeError } from '../../errors.js';
import type { ControlContext } from '../context.js';
import { takeUpIngestRun } from './take-up-ingest-run.js';

/**
 * Takes up the clients' runs that an earlier bridge on this data directory left behind: each waits
 * for its client to open again, at the last stored offset, or ends as LOST after the window. Those that
 * went on with another gateway meanwhile are that one's.
 */
export async function adoptIngestRuns(context: ControlContext): Promise<number> {
  let adopted = 0;
  for (const entry of await context.ingestLedger.list()) {
    const { runId } = entry.run;
    try {
      const known = await context.index.get(entry.tenantToken, runId);
      const isOurs = known === undefined || known.run.ownerId === context.ownerId;
      const taken = isOurs ? await takeUpIngestRun(context, entry) : undefined;
      if (taken?.source === undefined) await context.ingestLedger.remove(runId);
      else adopted += 1;
    } catch (thrown) {
      const { code, message } = toBridgeError(thrown);
      context.logger.error({ run_id: runId, code }, `run not taken up: ${message}`);
    }
  }
  return adopted;
}
