import { adoptChild } from '../../ingest/child/child-source.js';
import { spoolDir } from '../../ingest/spool/layout.js';
import { listSpools, readRequest, removeSpool } from '../../ingest/spool/run-spool.js';
import { markedSignals } from '../../ingest/spool/signal-file.js';
import { resumeCancels } from '../cancel/resume-cancels.js';
import type { ControlContext } from '../context.js';
import { updateRecord } from '../record.js';
import { spawnAgent } from '../start/spawn-agent.js';
import { decodeSpoolRequest, type SpoolRequest } from '../start/spool-request.js';
import { adoptOne } from './adopt-one.js';
import { childRun } from './child-run.js';
import { applyRestored, type RestoredRun, restoreRun } from './restore-run.js';

/** Runs that are restored at once: each reads its history. */
const PARALLEL = 8;

/**
 * Takes up the runs that an earlier bridge on this data directory left behind: goes on with those
 * that live, ends those that ended meanwhile, and clears what the log knows to be over.
 */
export async function adoptRuns(context: ControlContext): Promise<number> {
  const waiting = [...(await listSpools(context.dataDir))];
  let adopted = 0;
  async function adoptNext(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const runId = next;
      if (await adoptOne(context, runId, () => adoptRun(context, runId))) adopted += 1;
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, adoptNext));
  return adopted;
}

async function adoptRun(context: ControlContext, runId: string): Promise<boolean> {
  const request = decodeSpoolRequest(readRequest(spoolDir(context.dataDir, runId)));
  const restored = request && (await restoreRun(context, request.record));
  // Never in the log: its start was not answered, and nothing was spawned.
  if (request === undefined || restored === undefined) {
    if (request !== undefined) await context.index.remove(request.record);
    await removeSpool(context.dataDir, runId);
    return false;
  }
  applyRestored(request.record, restored, context.ownerId);
  if (restored.finished !== undefined) {
    await clearFinished(context, request);
    return false;
  }
  await goOn(context, request, restored);
  return true;
}

async function goOn(
  context: ControlContext,
  request: SpoolRequest,
  restored: RestoredRun,
): Promise<void> {
  const { record, graces, spawn } = request;
  const { runId } = record.run;
  const { resume, signals } = restored;
  const adopted = childRun(context, { record, graces, resume });
  const dir = spoolDir(context.dataDir, runId);
  // The mark is made before the signal goes out, the event after it.
  const marked = markedSignals(dir);
  const signalled = restored.signalled || marked.length > 0;
  // Before the process is followed: it may have ended by a cancel.
  await resumeCancels(context, adopted.owned, { ...restored, signalled });
  for (const signal of marked.filter((name) => !signals.has(name))) {
    const { desk } = adopted.owned;
    const error = 'not known: the bridge died as it was sent';
    const report = { signal, processGroup: signal === 'SIGKILL', error };
    if (desk.first !== undefined) desk.report(report, desk.first.requestId);
  }
  const child = adoptChild(context.keeper, runId, dir);
  if (child === undefined) {
    await spawnAgent(context, adopted, spawn);
  } else {
    adopted.attach(child);
    await updateRecord(context, record);
  }
}

/** The log says that it is over; what may be left is its process and its record. */
async function clearFinished(context: ControlContext, { record }: SpoolRequest): Promise<void> {
  const { runId } = record.run;
  await updateRecord(context, record);
  const child = adoptChild(context.keeper, runId, spoolDir(context.dataDir, runId));
  await child?.killGroup();
  await removeSpool(context.dataDir, runId);
}
