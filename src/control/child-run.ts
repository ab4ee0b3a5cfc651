import type { BridgeError } from '../errors.js';
import { toBridgeError } from '../errors.js';
import type { ChildSource } from '../ingest/child/child-source.js';
import type { RunEnd } from '../ingest/run-finished.js';
import type { ExitFacts } from '../ingest/spool/exit-file.js';
import type { SpoolEnd } from '../ingest/spool/follow.js';
import { removeSpool } from '../ingest/spool/run-spool.js';
import type { RunRecord } from '../log/run-record.js';
import type { ControlContext } from './context.js';
import { type OwnRunOptions, ownRun } from './own-run.js';
import type { OwnedRun } from './owned-run.js';

export interface Graces {
  readonly interruptGraceMs: number;
  readonly terminateGraceMs: number;
}

export interface ChildRunOptions {
  readonly record: RunRecord;
  readonly strict: boolean;
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
  const { record, graces } = options;
  const { runId } = record.run;
  let child: ChildSource | undefined;
  let wantsEnd: 'for a cancel' | 'unasked' | undefined;

  /** Starts, or goes on with, the escalation. Only signals of a cancel become events. */
  function escalate(why: NonNullable<typeof wantsEnd>): void {
    if (wantsEnd === undefined || why === 'for a cancel') wantsEnd = why;
    child
      ?.escalate({
        ...graces,
        signal: context.stopping,
        onSignal: ({ signal, processGroup, error = '' }) => {
          if (wantsEnd === 'for a cancel') owned.desk.report({ signal, processGroup, error });
          context.logger.info({ run_id: runId, signal, error }, 'signal sent to the agent');
        },
      })
      .catch((thrown: unknown) => {
        context.logger.error({ run_id: runId }, `escalation failed: ${String(thrown)}`);
      });
  }

  const owned = ownRun(context, {
    record,
    kind: 'child',
    strict: options.strict,
    ...(options.resume === undefined ? {} : { resume: options.resume }),
    deliver: () => escalate('for a cancel'),
    onMustStop: (why) => {
      context.logger.warn({ run_id: runId }, `stopping the agent: ${why}`);
      escalate('unasked');
    },
    onFailure: () => escalate('unasked'),
  });

  async function pump(source: ChildSource): Promise<void> {
    const { run } = owned;
    const items = source.events({
      fromStdout: run.stdoutOffset,
      fromStderr: run.stderrOffset,
      signal: context.stopping,
    });
    for await (const item of items) {
      if (owned.failure !== undefined) return;
      if ('exit' in item) {
        owned.finish(endOf(item, owned.desk.signalled));
        return;
      }
      if (item.stream === 'stdout') run.stdout(item.bytes);
      else run.stderr(item.bytes);
      await run.ready();
    }
  }

  function onPumpFailed(thrown: unknown): void {
    if (context.stopping.aborted || owned.failure !== undefined) return;
    const error: BridgeError = toBridgeError(thrown);
    context.logger.error({ run_id: runId, code: error.code }, `spool unreadable: ${error.message}`);
    owned.finish({ exit: { kind: 'unknown' }, cancelSignalled: owned.desk.signalled });
  }

  owned.finished.then(
    () => owned.closed.then(() => removeSpool(context.dataDir, runId)).catch(() => undefined),
    () => undefined,
  );

  return {
    owned,
    attach(source) {
      child = source;
      if (wantsEnd !== undefined) escalate(wantsEnd);
      pump(source).catch(onPumpFailed);
    },
  };
}

function endOf({ exit, lateStdoutBytes }: SpoolEnd, cancelSignalled: boolean): RunEnd {
  if (exit.unknown) {
    return { exit: { kind: 'unknown' }, cancelSignalled, lateBytes: lateStdoutBytes };
  }
  return {
    exit: exitKind(exit),
    cancelSignalled,
    leftoverProcesses: exit.leftover,
    escapedProcesses: exit.escaped,
    lateBytes: lateStdoutBytes,
  };
}

function exitKind(exit: Extract<ExitFacts, { unknown: false }>): RunEnd['exit'] {
  if (exit.signal !== null) return { kind: 'signal', signal: exit.signal };
  return exit.code === null ? { kind: 'unknown' } : { kind: 'code', code: exit.code };
}
