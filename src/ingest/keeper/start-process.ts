import { type ChildProcess, spawn } from 'node:child_process';
import { openStdio } from './open-stdio.js';
import type { SpawnFailure, SpawnRequest } from './protocol.js';
import { checkCwd, explainSpawnError } from './spawn-failure.js';

/** A process that runs the program already. */
export interface StartedProcess {
  readonly process: ChildProcess;
  readonly pid: number;
}

/**
 * Starts the program as leader of its own session and process group with the spool files as its
 * stdout and stderr. The answer comes in the same turn of the event loop if it is a process, so
 * that its end cannot be reported before the caller has it.
 */
export function startProcess(request: SpawnRequest): StartedProcess | Promise<SpawnFailure> {
  const unfit = checkCwd(request.cwd);
  if (unfit !== undefined) return Promise.resolve(unfit);
  const stdio = openStdio(request);
  if ('error' in stdio) return Promise.resolve(stdio);
  try {
    const [program = '', ...args] = request.argv;
    const child = spawn(program, args, {
      cwd: request.cwd,
      env: { ...request.env, HEP_RUN_ID: request.runId },
      stdio: [...stdio.fds],
      detached: true,
    });
    if (child.pid !== undefined) return { process: child, pid: child.pid };
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(explainSpawnError(request, error)));
    });
  } catch (error) {
    return Promise.resolve(explainSpawnError(request, error));
  } finally {
    stdio.close();
  }
}
