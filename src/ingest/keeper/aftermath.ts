import { livingProcesses, runIdOf } from './process-table.js';

/** A child that has ended; its pid is the id of its process group. */
export interface EndedChild {
  readonly runId: string;
  readonly pid: number;
  readonly startTime: string;
}

/** What an ended child left behind. */
export interface Aftermath {
  /** Processes of its group, killed with SIGKILL. */
  readonly leftover: number;
  /** Processes outside of its group that carry its run id; left alone. */
  readonly escaped: number;
}

/**
 * Looks once through all processes for what several ended children left behind, kills what is in
 * their groups, and answers in the same order. `keptGroups` are the groups of children that still
 * run: whatever is in them belongs to another run.
 */
export function settleAftermath(
  ended: readonly EndedChild[],
  keptGroups: ReadonlySet<number>,
): readonly Aftermath[] {
  const table = livingProcesses();
  const counts = ended.map(() => ({ leftover: 0, escaped: 0 }));
  const byGroup = new Map(ended.map((child, index) => [child.pid, index]));
  const byRun = new Map(ended.map((child, index) => [child.runId, index]));
  // Older than the oldest of the children: cannot descend from any of them.
  const oldestTicks = Math.min(...ended.map((child) => Number(child.startTime)));
  for (const { pid, processGroup, startTicks } of table) {
    const inGroup = byGroup.get(processGroup);
    // The system gives a group's id to no new process while the group has members: a leader with
    // the id of an ended child is a stranger in a new group.
    if (inGroup !== undefined && pid !== processGroup) {
      at(counts, inGroup).leftover += 1;
    } else if (startTicks >= oldestTicks && !keptGroups.has(processGroup)) {
      const run = byRun.get(runIdOf(pid) ?? '');
      if (run !== undefined) at(counts, run).escaped += 1;
    }
  }
  ended.forEach((child, index) => {
    if (at(counts, index).leftover > 0) killGroup(child.pid);
  });
  return counts;
}

function killGroup(processGroup: number): void {
  try {
    process.kill(-processGroup, 'SIGKILL');
  } catch {
    // They ended by themselves since they were counted.
  }
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index}`);
  return item;
}
