import { v4 as uuidv4 } from 'uuid';
import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import { type OwnRunOptions, ownRun } from '../own/own-run.js';
import type { OwnedRun } from '../own/owned-run.js';
import { createIngestSource, type IngestSource } from './ingest-source.js';
import { loseToOwner } from './lose-to-owner.js';

export interface IngestRunOptions {
  readonly record: RunRecord;
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
  const { record, resume } = options;
  const { runId } = record.run;
  const owned = ownRun(context, {
    record,
    kind: 'ingest',
    graces: context,
    isListening: () => source.isAttached,
    ...(resume === undefined ? {} : { resume }),
    deliver: (requestId, graces) => source.cancel(requestId, graces),
    onMustStop: (why) => {
      context.logger.warn({ run_id: runId }, `telling the client to stop the agent: ${why}`);
      source.cancel(uuidv4(), context);
    },
    onFailure: () => source.notify(),
    onCommitted: () => source.notify(),
  });
  const source = createIngestSource({
    owned,
    reconnectWindowMs: context.reconnectWindowMs,
    onAbandoned: (message) => endAbandoned(context, owned, message),
    stopping: context.stopping,
  });
  context.ingestSources.set(runId, source);
  void owned.closed.then(async () => {
    if (context.ingestSources.get(runId) === source) context.ingestSources.delete(runId);
    // A gateway that stops leaves the run to the next one.
    if (!context.stopping.aborted) await context.ingestLedger.remove(runId);
  });
  return { owned, source };
}

/** Nobody feeds the run any more; unless its client has gone on with another gateway, it is lost. */
async function endAbandoned(
  context: ControlContext,
  owned: OwnedRun,
  message: string,
): Promise<void> {
  const { tenantToken, run } = owned.record;
  try {
    const known = await context.index.get(tenantToken, run.runId);
    if (known !== undefined && loseToOwner(context, owned, known)) return;
  } catch {
    // The log does not answer: the commit of the end waits for it, and its chain decides.
  }
  owned.finish({ exit: { kind: 'owner-gone', message }, synthetic: true });
}
