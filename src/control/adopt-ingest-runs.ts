import { toBridgeError } from '../errors.js';
import type { ControlContext } from './context.js';
import type { LedgerEntry } from './ingest-ledger.js';
import { ingestRun } from './ingest-run.js';
import { setFinished, updateRecord } from './own-run.js';
import { applyRestored, type RestoredRun, restoreRun } from './restore-run.js';
import { resumeCancels } from './resume-cancels.js';

/**
 * Takes up the clients' runs that an earlier bridge on this data directory left behind: each waits
 * for its client to open again, at the last stored offset, or ends as LOST after the window.
 */
export async function adoptIngestRuns(context: ControlContext): Promise<number> {
  let adopted = 0;
  for (const entry of await context.ingestLedger.list()) {
    if (await adoptIngestRun(context, entry)) adopted += 1;
  }
  return adopted;
}

async function adoptIngestRun(context: ControlContext, entry: LedgerEntry): Promise<boolean> {
  const { record, strict } = entry;
  const { runId } = record.run;
  try {
    const restored = await restoreRun(
      context.reader,
      record.subjectPrefix,
      strict,
      context.stopping,
    );
    if (restored === undefined || restored.finished !== undefined) {
      if (restored?.finished !== undefined) {
        setFinished(record.run, restored.finished.value);
        await updateRecord(context, record);
      }
      await context.ingestLedger.remove(runId);
      return false;
    }
    await goOn(context, entry, restored);
    return true;
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    context.logger.error({ run_id: runId, code }, `run not taken up: ${message}`);
    return false;
  }
}

async function goOn(
  context: ControlContext,
  { record, strict }: LedgerEntry,
  restored: RestoredRun,
): Promise<void> {
  applyRestored(record, restored);
  const { owned } = ingestRun(context, { record, strict, resume: restored.resume });
  await updateRecord(context, record);
  await resumeCancels(context, owned, restored);
}
