import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, type ProcessIdentity } from '../child/process-identity.js';
import { errnoCode } from '../spool/errno.js';
import type { KnownExit } from '../spool/exit-file.js';
import { spoolFiles } from '../spool/layout.js';
import { readProcessRecord, writeProcessRecord } from '../spool/process-file.js';
import { type Aftermath, type EndedChild, settleAftermath } from './aftermath.js';
import { reserveExitRecord, streamBytes, writeExitRecord } from './exit-record.js';
import { livingProcesses, runIdOf } from './process-table.js';
import type { SignalAnswer, SignalRequest, SpawnAnswer, SpawnRequest } from './protocol.js';
import { type StartedProcess, startProcess } from './start-process.js';

interface RunningChild extends EndedChild {
  readonly spoolDir: string;
}

interface Ending {
  readonly child: RunningChild;
  readonly exit: Omit<KnownExit, 'leftover' | 'escaped'>;
}

/**
 * The children of one keeper. Only this object reaps them, in the same thread that signals them: a
 * pid in `running` is never anybody else's.
 */
export class KeptChildren {
  readonly #keeper: ProcessIdentity;
  readonly #onSettled: () => void;
  readonly #running = new Map<string, RunningChild>();
  readonly #spawning = new Map<string, Promise<SpawnAnswer>>();
  readonly #endings: Ending[] = [];
  #unsettled = 0;

  /** `onSettled` is called when the exit of a child is on file and none is left to wait for. */
  constructor(keeper: ProcessIdentity, onSettled: () => void) {
    this.#keeper = keeper;
    this.#onSettled = onSettled;
  }

  /** Children that run, start, or whose exit is not on file yet. */
  get count(): number {
    return this.#running.size + this.#spawning.size + this.#unsettled;
  }

  /** Starts the child of a run, or answers with the one that the run has or had. */
  async spawn(request: SpawnRequest): Promise<SpawnAnswer> {
    const starting = this.#spawning.get(request.runId);
    if (starting !== undefined) return await starting;
    const answer = this.#running.get(request.runId) ?? this.#recorded(request);
    if (answer !== undefined) return pick(answer);
    const started = this.#start(request);
    if (!(started instanceof Promise)) return started;
    this.#spawning.set(request.runId, started);
    try {
      return await started;
    } finally {
      this.#spawning.delete(request.runId);
    }
  }

  /** Synchronous on purpose: between the look-up and kill(2) no child can be reaped. */
  signal({ runId, signal, group }: SignalRequest): SignalAnswer {
    const child = this.#running.get(runId);
    if (child === undefined) return { error: 'ESRCH' };
    try {
      process.kill(group ? -child.pid : child.pid, signal);
      return { sent: true };
    } catch (error) {
      return { error: errnoCode(error) ?? 'EIO' };
    }
  }

  /** What an earlier spawn of the run left on file, by this keeper or one that died. */
  #recorded(request: SpawnRequest): SpawnAnswer | undefined {
    const record = readProcessRecord(request.spoolDir);
    if (record !== undefined) return record;
    if (!existsSync(join(request.spoolDir, spoolFiles.spawning))) return undefined;
    // A keeper died between starting the child and recording it.
    const lost = livingProcesses().find(
      ({ pid, processGroup }) => pid === processGroup && runIdOf(pid) === request.runId,
    );
    const identity = lost === undefined ? undefined : identifyProcess(lost.pid);
    if (identity === undefined) {
      return {
        error: 'SPAWN_UNKNOWN',
        message: `the keeper died while it started run ${request.runId}; no process of it is left`,
      };
    }
    // Nobody is its parent any more: a keeper that cannot be alive says so to readers.
    writeProcessRecord(request.spoolDir, { ...identity, keeper: { ...this.#keeper, bootId: '' } });
    return identity;
  }

  #start(request: SpawnRequest): SpawnAnswer | Promise<SpawnAnswer> {
    const marker = join(request.spoolDir, spoolFiles.spawning);
    try {
      reserveExitRecord(request.spoolDir);
      closeSync(openSync(marker, 'wx', 0o600));
    } catch (error) {
      const message = `spool directory ${request.spoolDir}: ${String(error)}`;
      return { error: errnoCode(error) ?? 'EIO', message };
    }
    const started = startProcess(request);
    if (!(started instanceof Promise)) return this.#keep(request, started, marker);
    return started.then((failure) => {
      rmSync(marker, { force: true });
      return failure;
    });
  }

  #keep(
    request: SpawnRequest,
    { process: child, pid }: StartedProcess,
    marker: string,
  ): SpawnAnswer {
    // It may have ended already, but it was not reaped: its start time can be read.
    const identity = identifyProcess(pid) ?? { ...this.#keeper, pid, startTime: '' };
    const running = { runId: request.runId, spoolDir: request.spoolDir, ...identity };
    this.#running.set(request.runId, running);
    child.once('exit', (code, signal) => this.#end(running, code, signal));
    // Without a listener a failed `kill` of Node's own would end the keeper.
    child.on('error', (error) => console.error(`run ${request.runId}:`, error));
    try {
      writeProcessRecord(request.spoolDir, { ...identity, keeper: this.#keeper });
      rmSync(marker, { force: true });
    } catch (error) {
      // Nobody could take up a child that is not on record: it must not run.
      this.signal({ runId: request.runId, signal: 'SIGKILL', group: true });
      const message = `the child could not be recorded and was killed: ${String(error)}`;
      return { error: errnoCode(error) ?? 'EIO', message };
    }
    return pick(running);
  }

  #end(child: RunningChild, code: number | null, signal: NodeJS.Signals | null): void {
    this.#running.delete(child.runId);
    this.#unsettled += 1;
    const stdoutBytes = streamBytes(child.spoolDir, 'stdout');
    const stderrBytes = streamBytes(child.spoolDir, 'stderr');
    const exitTimeMs = Date.now();
    const exit = { unknown: false, code, signal, stdoutBytes, stderrBytes, exitTimeMs } as const;
    // Children that end together share one look at the process table.
    if (this.#endings.push({ child, exit }) === 1) setImmediate(() => this.#settle());
  }

  #settle(): void {
    const endings = this.#endings.splice(0);
    const keptGroups = new Set(Array.from(this.#running.values(), ({ pid }) => pid));
    const aftermath = this.#lookAfter(endings, keptGroups);
    endings.forEach(({ child, exit }, index) => {
      const { leftover, escaped } = aftermath[index] ?? { leftover: 0, escaped: 0 };
      void writeExitRecord(child.spoolDir, { ...exit, leftover, escaped }).then(() => {
        this.#unsettled -= 1;
        if (this.count === 0) this.#onSettled();
      });
    });
  }

  #lookAfter(endings: readonly Ending[], keptGroups: ReadonlySet<number>): readonly Aftermath[] {
    try {
      return settleAftermath(
        endings.map(({ child }) => child),
        keptGroups,
      );
    } catch (error) {
      // The exits are worth more than what they left behind.
      console.error('process table:', error);
      return [];
    }
  }
}

function pick(answer: SpawnAnswer): SpawnAnswer {
  return 'error' in answer
    ? { error: answer.error, message: answer.message }
    : { pid: answer.pid, startTime: answer.startTime };
}
