import type { RunRecord } from '../../log/run-record.js';
import { resumeCancels } from '../cancel/resume-cancels.js';
import type { ControlContext } from '../context.js';
import { applyRestored, restoreRun } from '../own/restore-run.js';
import { updateRecord } from '../record.js';
import { ingestRun } from './ingest-run.js';
import type { IngestSource } from './ingest-source.js';

/** A client's run as the log has it. */
export interface TakenUp {
  /** With the end, if it is over. */
  readonly record: RunRecord;
  /** Undefined if it is over. */
  readonly source: IngestSource | undefined;
}

/**
 * Goes on with a client's run from the log: after a restart, or in place of another gateway, whose next
 * commit the chain then refuses. Undefined if the log holds nothing of the run.
 */
export async function takeUpIngestRun(
  context: ControlContext,
  record: RunRecord,
): Promise<TakenUp | undefined> {
  const restored = await restoreRun(context, record);
  if (restored === undefined) {
    await context.index.remove(record);
    return undefined;
  }
  applyRestored(record, restored, context.ownerId);
  if (restored.finished !== undefined) {
    await updateRecord(context, record);
    return { record, source: undefined };
  }
  context.ingestLedger.enter(record);
  const { owned, source } = ingestRun(context, { record, resume: restored.resume });
  await updateRecord(context, record);
  await resumeCancels(context, owned, restored);
  return { record, source };
}
