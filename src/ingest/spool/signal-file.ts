import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoCode } from './errno.js';
import { type CancelSignal, signalFiles } from './layout.js';

/** One signal that is on record for a run. */
export interface SignalMark {
  /** Whether this call put it on record, so that its caller is the one to send the signal. */
  readonly first: boolean;
  /** Unix time in milliseconds at which it went on record. */
  readonly atMs: number;
}

/**
 * Puts on record that a signal is about to be sent: an exclusive create and a sync, so that whoever
 * comes later, in this process or after a crash, learns that it is not the first.
 */
export async function markSignal(dir: string, signal: CancelSignal): Promise<SignalMark> {
  const path = join(dir, signalFiles[signal]);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    return { first: false, atMs: (await stat(path)).mtimeMs };
  }
  const directory = await open(dir, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
  return { first: true, atMs: Date.now() };
}

/** The signals on record for a run, in the order of an escalation. */
export function markedSignals(dir: string): readonly CancelSignal[] {
  const signals: readonly CancelSignal[] = ['SIGINT', 'SIGTERM', 'SIGKILL'];
  return signals.filter((signal) => existsSync(join(dir, signalFiles[signal])));
}
