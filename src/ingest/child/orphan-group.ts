import { livingProcesses, runIdOf } from '../keeper/process-table.js';

/**
 * Kills what is left of a run's process group when the keeper that would have done it is dead, and
 * returns how many there were. Since the leader may be gone for long and its number used again, only
 * processes that carry the run's id count; 0 where there is no `/proc` to see that.
 */
export function killOrphanGroup(runId: string, processGroup: number): number {
  let killed = 0;
  for (const entry of livingProcesses()) {
    if (entry.processGroup !== processGroup || runIdOf(entry.pid) !== runId) continue;
    try {
      process.kill(entry.pid, 'SIGKILL');
      killed += 1;
    } catch {
      // It ended by itself since it was seen.
    }
  }
  return killed;
}
