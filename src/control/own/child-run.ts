import { setTimeout as delay } from 'node:timers/promises';
import type { BridgeError } from '../../errors.js';
import { toBridgeError } from '../../errors.js';
import type { ChildSource } from '../../ingest/child/child-source.js';
import type { ExitFacts } from '../../ingest/spool/exit-file.js';
import type { SpoolEnd } from '../../ingest/spool/follow.js';
import { removeSpool } from '../../ingest/spool/run-spool.js';
import type { RunRecord } from '../../log/run-record.js';
import type { Graces } from '../cancel/graces.js';
import type { ControlContext } from '../context.js';
import { type OwnRunOptions, ownRun } from './own-run.js';
import type { OwnedRun, SourceEnd } from './owned-run.js';

/** Longest wait for the answer to a signal whose process has ended. */
const SETTLE_MS = 5_000;

export interface ChildRunOptions {
  readonly record: RunRecord;
  readonly graces: Graces;
  readonly resume?: OwnRunOptions['resume'];
}

/** A run whose agent is a child of this data directory's keeper. */
export interface ChildRun {
  readonly owned: OwnedRun;
  /** The process is there: follow what it writes to its end. A cancel that waited goes out now. */
  attach(child: ChildSource): void;
}

/**
 * Owns a child's run: its bytes into the log, cancels to the process, and at the end RunFinished
 * and the spool's removal.
 */
export function childRun(context: ControlContext, options: ChildRunOptions): ChildRun {
  const { record } = options;
  const { runId } = record.run;
  let child: ChildSource | undefined;
  /** Aborted when the child has ended, or the gateway stops. */
  const over = new AbortController();
  const escalating = new Set<Promise<void>>();
  let wanted: { readonly requestId: string | undefined; readonly graces: Graces } | undefined;

  /**
   * Starts the escalation, or goes on with it by shorter graces: of several at once each signal is
   * sent once, by the first that comes to it. Only signals of a cancel become events.
   */
  function escalate(requestId: string | undefined, graces: Graces): void {
    wanted = { requestId: requestId ?? wanted?.requestId, graces };
    const escalation = child
      ?.escalate({
        ...graces,
        signal: over.signal,
        onSignal: ({ signal, processGroup, error = '' }) => {
          const servedId = requestId ?? wanted?.requestId;
          if (servedId !== undefined) owned.desk.report({ signal, processGroup, error }, servedId);
          context.logger.info({ run_id: runId, signal, error }, 'signal sent to the agent');
        },
      })
      .catch((thrown: unknown) => {
        context.logger.error({ run_id: runId }, `escalation failed: ${String(thrown)}`);
      });
    if (escalation === undefined) return;
    escalating.add(escalation);
    void escalation.finally(() => escalating.delete(escalation));
  }

  /** The child may be gone before the keeper's answer to its signal is here. */
  async function settleSignals(): Promise<void> {
    over.abort();
    if (escalating.size === 0) return;
    const patience = new AbortController();
    const limit = delay(SETTLE_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([Promise.all(escalating), limit]);
    patience.abort();
  }

  const owned = ownRun(context, {
    record,
    kind: 'child',
    graces: options.graces,
    isListening: () => child !== undefined,
    ...(options.resume === undefined ? {} : { resume: options.resume }),
    deliver: escalate,
    onMustStop: (why) => {
      context.logger.warn({ run_id: runId }, `stopping the agent: ${why}`);
      escalate(undefined, options.graces);
    },
    onFailure: () => escalate(undefined, options.graces),
  });

  async function pump(source: ChildSource): Promise<void> {
    const { run } = owned;
    const items = source.events({
      fromStdout: run.stdoutOffset,
      fromStderr: run.stderrOffset,
      signal: context.stopping,
    });
    for await (const item of items) {
      if ('exit' in item) {
        await settleSignals();
        owned.finish(endOf(item));
        break;
      }
      // Another has the run: what the agent still writes until it has ended goes nowhere.
      if (owned.failure !== undefined) continue;
      if (item.stream === 'stdout') run.stdout(item.bytes);
      else run.stderr(item.bytes);
      await run.ready().catch(() => undefined);
    }
    if (owned.failure?.code === 'FENCED') await removeSpool(context.dataDir, runId);
  }

  function onPumpFailed(thrown: unknown): void {
    if (context.stopping.aborted) return;
    const error: BridgeError = toBridgeError(thrown);
    context.logger.error({ run_id: runId, code: error.code }, `spool unreadable: ${error.message}`);
    owned.finish({ exit: { kind: 'unknown' } });
  }

  const stop = (): void => over.abort();
  context.stopping.addEventListener('abort', stop, { once: true });
  void owned.closed.then(() => context.stopping.removeEventListener('abort', stop));
  owned.finished.then(
    () => owned.closed.then(() => removeSpool(context.dataDir, runId)).catch(() => undefined),
    () => undefined,
  );

  return {
    owned,
    attach(source) {
      child = source;
      if (wanted !== undefined) escalate(wanted.requestId, wanted.graces);
      pump(source).catch(onPumpFailed);
    },
  };
}

function endOf({ exit, lateStdoutBytes }: SpoolEnd): SourceEnd {
  if (exit.unknown) return { exit: { kind: 'unknown' }, lateBytes: lateStdoutBytes };
  return {
    exit: exitKind(exit),
    leftoverProcesses: exit.leftover,
    escapedProcesses: exit.escaped,
    lateBytes: lateStdoutBytes,
  };
}

function exitKind(exit: Extract<ExitFacts, { unknown: false }>): SourceEnd['exit'] {
  if (exit.signal !== null) return { kind: 'signal', signal: exit.signal };
  return exit.code === null ? { kind: 'unknown' } : { kind: 'code', code: exit.code };
}
