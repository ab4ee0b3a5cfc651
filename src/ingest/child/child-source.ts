import type { Keeper } from '../keeper/keeper.js';
import type { SpawnAnswer, SpawnFailure, SpawnRequest } from '../keeper/protocol.js';
import { awaitExit } from '../spool/await-exit.js';
import { readExit } from '../spool/exit-file.js';
import { type FollowOptions, followSpool, type SpoolItem } from '../spool/follow.js';
import { readProcessRecord } from '../spool/process-file.js';
import { type Signalled, signalChild } from './child-signaller.js';
import { escalate, type Graces, type SignalReport } from './escalation.js';
import { killOrphanGroup } from './orphan-group.js';
import { spoolMarks } from './signal-marks.js';

interface EscalateChildOptions extends Graces {
  /** Called after each signal that was sent, or could not be. Nothing waits for it. */
  readonly onSignal: (report: SignalReport) => void;
  /** Stops the escalation where it is; another one goes on from there. */
  readonly signal?: AbortSignal;
}

/** A child process of the keeper as a source of bytes. Holds nothing that must be closed. */
export interface ChildSource {
  readonly runId: string;
  /** The run's spool directory. */
  readonly dir: string;
  /** Undefined if a keeper died while it started the child and no process of it is left. */
  readonly pid: number | undefined;
  /** What it writes from these offsets on, then how it ended; see `followSpool`. May be called again. */
  events(options: Omit<FollowOptions, 'dir' | 'gone' | 'onUnseenEnd'>): AsyncIterable<SpoolItem>;
  /** Kills all that is left of its process group, whoever its parent is now. Never rejects. */
  killGroup(): Promise<void>;
  /** Sends one signal, on record nowhere. Never rejects. */
  signal(signal: NodeJS.Signals, options: { readonly group: boolean }): Promise<Signalled>;
  /**
   * Has the child end; see `escalate`. Returns when it has ended, SIGKILL was sent, or it was stopped.
   * Several at once send each signal once.
   */
  escalate(options: EscalateChildOptions): Promise<void>;
}

export interface StartChildOptions extends Omit<SpawnRequest, 'spoolDir'> {
  readonly keeper: Keeper;
  /** The run's spool directory, made by `createSpool`. */
  readonly dir: string;
}

/**
 * Starts the child of a run. The same run started again gives the same child, running or ended. A
 * program that cannot be started is an answer, not an error; throws `KEEPER_UNREACHABLE`.
 */
export async function startChild(options: StartChildOptions): Promise<ChildSource | SpawnFailure> {
  const { keeper, dir, ...request } = options;
  const answer: SpawnAnswer = await keeper.spawn({ ...request, spoolDir: dir });
  if (!('error' in answer)) return childSource(keeper, request.runId, dir, answer.pid);
  // It may have run, written and ended: a source without a process, of which the end is unknown.
  if (answer.error === 'SPAWN_UNKNOWN') return childSource(keeper, request.runId, dir, undefined);
  return answer;
}

/**
 * Takes up the child of a run that an earlier bridge started, running or ended; undefined if none is
 * recorded. Then `startChild` with the same request is safe: it finds one that was not recorded yet.
 */
export function adoptChild(keeper: Keeper, runId: string, dir: string): ChildSource | undefined {
  const record = readProcessRecord(dir);
  return record === undefined ? undefined : childSource(keeper, runId, dir, record.pid);
}

function childSource(
  keeper: Keeper,
  runId: string,
  dir: string,
  pid: number | undefined,
): ChildSource {
  const marks = spoolMarks(dir);
  return {
    runId,
    dir,
    pid,
    events: (options) =>
      followSpool({
        ...options,
        dir,
        gone: pid === undefined,
        onUnseenEnd: () => (pid === undefined ? 0 : killOrphanGroup(runId, pid)),
      }),
    killGroup: async () => {
      await signalChild(keeper, { runId, dir }, 'SIGKILL', true);
      if (pid !== undefined) killOrphanGroup(runId, pid);
    },
    signal: async (signal, { group }) => await signalChild(keeper, { runId, dir }, signal, group),
    escalate: async ({ signal, ...options }) => {
      const over = new AbortController();
      const stop = (): void => over.abort();
      signal?.addEventListener('abort', stop);
      if (signal?.aborted || pid === undefined || readExit(dir) !== undefined) stop();
      // Not from `events`: the exit must not wait for a slow reader.
      const exit = awaitExit(dir, over.signal).then(stop, () => undefined);
      try {
        const send = async (name: NodeJS.Signals, group: boolean): Promise<Signalled> =>
          await signalChild(keeper, { runId, dir }, name, group);
        await escalate({ ...options, signaller: { send }, marks, ended: over.signal });
      } finally {
        signal?.removeEventListener('abort', stop);
        stop();
        await exit;
      }
    },
  };
}
