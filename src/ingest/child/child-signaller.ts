import type { Keeper } from '../keeper/keeper.js';
import { errnoCode } from '../spool/errno.js';
import { readExit } from '../spool/exit-file.js';
import { readProcessRecord } from '../spool/process-file.js';
import { isAlive } from './process-identity.js';

/** The answer to a signal: sent, or why not. */
export interface Signalled {
  /** The system's code, or `KEEPER_UNREACHABLE`; absent if the signal was sent. */
  readonly error?: string;
}

/**
 * Signals the child of a run through the keeper that started it. If that keeper has died the child
 * has nobody who could reap it under our eyes: then it is signalled from here, right after its pid and
 * start time were found to be still the same.
 */
export async function signalChild(
  keeper: Keeper,
  run: { readonly runId: string; readonly dir: string },
  signal: NodeJS.Signals,
  group: boolean,
): Promise<Signalled> {
  const answer = await keeper.signal(run.runId, signal, group);
  if (!('error' in answer)) return {};
  return answer.error === 'ESRCH' ? signalOrphan(run.dir, signal, group) : answer;
}

function signalOrphan(dir: string, signal: NodeJS.Signals, group: boolean): Signalled {
  const child = readProcessRecord(dir);
  if (child === undefined || readExit(dir) !== undefined) return { error: 'ESRCH' };
  if (isAlive(child.keeper) || !isAlive(child)) return { error: 'ESRCH' };
  try {
    process.kill(group ? -child.pid : child.pid, signal);
    return {};
  } catch (error) {
    return { error: errnoCode(error) ?? 'EIO' };
  }
}
