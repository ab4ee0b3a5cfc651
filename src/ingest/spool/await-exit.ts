import { readExit } from './exit-file.js';
import { readProcessRecord } from './process-file.js';
import { watchRun } from './run-watch.js';
import { endedUnseen } from './unseen-exit.js';

/**
 * Resolves when the child of a run has ended, seen by its keeper or not, however far its output is
 * read. Rejects with the signal's reason.
 */
export async function awaitExit(dir: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const end = (): void => {
      endWatch();
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      end();
      reject(signal.reason);
    };
    const look = (): void => {
      if (readExit(dir) === undefined) return;
      end();
      resolve();
    };
    const endWatch = watchRun({
      dir,
      onStream: () => undefined,
      onExit: look,
      onSweep: () => {
        const child = readProcessRecord(dir);
        if (child === undefined || !endedUnseen(child)) return look();
        end();
        resolve();
      },
    });
    signal.addEventListener('abort', onAbort);
    look();
  });
}
