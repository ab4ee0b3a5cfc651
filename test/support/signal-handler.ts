import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const SIGINT_BIT = 1n << 1n;

/**
 * Waits until the agent of a run handles SIGINT: a program that has printed its first frames may be
 * an instant away from that.
 */
export async function untilHandlesInterrupt(dataDir: string, runId: string): Promise<void> {
  const file = join(dataDir, 'spool', runId, 'process.json');
  const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number };
  for (;;) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const caught = BigInt(`0x${/^SigCgt:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
    if ((caught & SIGINT_BIT) !== 0n) return;
    await delay(5);
  }
}
