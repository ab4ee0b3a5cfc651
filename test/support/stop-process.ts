import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readProcStat } from '../../src/ingest/child/proc-stat.js';

/**
 * Sends SIGSTOP and waits until every thread stands still: on a busy machine the others go on, and a
 * server still answers, until the thread that takes the signal gets its turn.
 */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!threadsOf(pid).every((thread) => readProcStat(thread)?.state === 'T')) await delay(1);
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // No /proc here.
    return [];
  }
}
