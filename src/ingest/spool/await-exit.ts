import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type ExitFacts, readExit } from './exit-file.js';
import { spoolFiles } from './layout.js';
import { readProcessRecord } from './process-file.js';
import { watchRun } from './run-watch.js';
import { endedUnseen } from './unseen-exit.js';

/**
 * Resolves when the child of a run has ended, however far its output is read. Rejects with the
 * signal's reason.
 */
export async function awaitExit(dir: string, signal: AbortSignal): Promise<ExitFacts> {
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const end = (): void => {
      endWatch();
      signal.removeEventListener('abort', onAbort);
    };
    const settle = (exit: ExitFacts | undefined): void => {
      if (exit === undefined) return;
      end();
      resolve(exit);
    };
    const onAbort = (): void => {
      end();
      reject(signal.reason);
    };
    const endWatch = watchRun({
      dir,
      onStream: () => undefined,
      onExit: () => settle(readExit(dir)),
      onSweep: () => settle(readExit(dir) ?? unseenExit(dir)),
    });
    signal.addEventListener('abort', onAbort);
    settle(readExit(dir));
  });
}

function unseenExit(dir: string): ExitFacts | undefined {
  const child = readProcessRecord(dir);
  if (child === undefined || !endedUnseen(child)) return undefined;
  const size = (name: string): number =>
    statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  return (
    readExit(dir) ?? {
      unknown: true,
      stdoutBytes: size(spoolFiles.stdout),
      stderrBytes: size(spoolFiles.stderr),
    }
  );
}
