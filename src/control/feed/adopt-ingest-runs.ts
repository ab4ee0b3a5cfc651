import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import { adoptOne } from '../own/adopt-one.js';
import { takeUpIngestRun } from './take-up-ingest-run.js';

/**
 * Takes up the clients' runs that an earlier bridge on this data directory left behind: each waits
 * for its client to open again, at the last stored offset, or ends as LOST after the window. Those that
 * went on with another gateway meanwhile are that one's.
 */
export async function adoptIngestRuns(context: ControlContext): Promise<number> {
  let adopted = 0;
  for (const entry of await context.ingestLedger.list()) {
    if (await adoptOne(context, entry.run.runId, () => adoptEntry(context, entry))) adopted += 1;
  }
  return adopted;
}

async function adoptEntry(context: ControlContext, entry: RunRecord): Promise<boolean> {
  const { runId } = entry.run;
  const known = await context.index.get(entry.tenantToken, runId);
  const isOurs = known === undefined || known.run.ownerId === context.ownerId;
  const taken = isOurs ? await takeUpIngestRun(context, entry) : undefined;
  if (taken?.source !== undefined) return true;
  await context.ingestLedger.remove(runId);
  return false;
}
