import { v4 as uuidv4 } from 'uuid';
import type { RunRecord } from '../log/run-record.js';
import type { ControlContext } from './context.js';
import { createIngestSource, type IngestSource } from './ingest-source.js';
import { type OwnRunOptions, ownRun } from './own-run.js';
import type { OwnedRun } from './owned-run.js';

export interface IngestRunOptions {
  readonly record: RunRecord;
  readonly strict: boolean;
  readonly resume?: OwnRunOptions['resume'];
}

/** A run whose agent belongs to a client. */
export interface IngestRun {
  readonly owned: OwnedRun;
  readonly source: IngestSource;
}

/**
 * Owns such a run: cancels go to the client's call, and a client that stays away for the reconnect
 * window ends it as LOST.
 */
export function ingestRun(context: ControlContext, options: IngestRunOptions): IngestRun {
  const { record, strict, resume } = options;
  const { runId } = record.run;
  const owned = ownRun(context, {
    record,
    kind: 'ingest',
    strict,
    ...(resume === undefined ? {} : { resume }),
    deliver: (requestId) => source.cancel(requestId),
    onMustStop: (why) => {
      context.logger.warn({ run_id: runId }, `telling the client to stop the agent: ${why}`);
      source.cancel(uuidv4());
    },
    onFailure: () => source.notify(),
    onCommitted: () => source.notify(),
  });
  const source = createIngestSource({
    owned,
    reconnectWindowMs: context.reconnectWindowMs,
    interruptGraceMs: context.interruptGraceMs,
    terminateGraceMs: context.terminateGraceMs,
    stopping: context.stopping,
  });
  context.ingestSources.set(runId, source);
  void owned.closed.then(async () => {
    context.ingestSources.delete(runId);
    // A gateway that stops leaves the run to the next one.
    if (!context.stopping.aborted) await context.ingestLedger.remove(runId);
  });
  return { owned, source };
}
