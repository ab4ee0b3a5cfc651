import { livingRunProcesses, signalOfRun } from './processes.js';
import type { RunFacts } from './run-facts.js';

/** Ends what is left of the runs: what left its group on purpose, and what killed clients left. */
export function clearRemains(runs: readonly RunFacts[]): void {
  for (const { client } of runs) client?.kill('SIGKILL');
  const processes = livingRunProcesses();
  for (const { runId } of runs) {
    for (const { pid } of processes.get(runId) ?? []) signalOfRun(runId, pid, 'SIGKILL');
  }
}
