import { toBridgeError } from '../../errors.js';
import { createRun } from '../../ingest/run.js';
import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import { applyRestored, restoreRun } from '../own/restore-run.js';
import { setFinished, timestampFromUs, updateRecord } from '../record.js';

/**
 * Writes the synthetic end of a run whose owner is gone, on top of what the log holds; true if this call
 * wrote it. A run that is over, or that another writer has, is left as it is; the record of one that never
 * came to be is removed.
 */
export async function endLostRun(
  context: ControlContext,
  record: RunRecord,
  why: string,
): Promise<boolean> {
  const { run } = record;
  const restored = await restoreRun(context, record);
  if (restored === undefined) {
    await context.index.remove(record);
    return false;
  }
  applyRestored(record, restored, run.ownerId);
  if (restored.finished !== undefined) {
    await updateRecord(context, record);
    return false;
  }
  const { cancelRequests, signalled, resume } = restored;
  const ending = createRun({
    runId: run.runId,
    log: context.openLog({
      subjectPrefix: record.subjectPrefix,
      lastStreamSequence: resume.lastStreamSequence,
      requestHash: record.requestHash,
    }),
    clock: context.clock,
    limits: context.limits,
    strict: record.strict,
    resume,
    onMustStop: () => undefined,
    onFailure: () => undefined,
  });
  try {
    const finished = await ending.finish({
      exit: { kind: 'owner-gone', message: why },
      synthetic: true,
      cancel: cancelRequests[0]?.order,
      cancelSignalled: signalled,
    });
    run.lastSequence = BigInt(ending.committed.sequence);
    setFinished(run, finished, timestampFromUs(ending.committed.lastTimeUs));
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    context.logger.warn({ run_id: run.runId, code }, `not ended as LOST: ${message}`);
    return false;
  }
  context.logger.warn({ run_id: run.runId }, `ended as LOST: ${why}`);
  await updateRecord(context, record);
  return true;
}
