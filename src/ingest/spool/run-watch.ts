import { type FSWatcher, watch } from 'node:fs';
import { spoolFiles } from './layout.js';
import { onSweep } from './sweep.js';

export interface RunWatchOptions {
  /** The run's spool directory. */
  readonly dir: string;
  /** A stream may have grown. */
  readonly onStream: () => void;
  /** `exit.json` may be there. */
  readonly onExit: () => void;
  /** About once a second, for whatever was not told. */
  readonly onSweep: () => void;
}

/**
 * Watches a run's directory until the returned function is called. Node has one inotify instance for
 * all of them. Where there is no watch to be had (a limit of the system), or the kernel's queue
 * overflows, the sweep finds what happened.
 */
export function watchRun(options: RunWatchOptions): () => void {
  const endSweep = onSweep(options.onSweep);
  const watcher = openWatcher(options);
  return () => {
    endSweep();
    watcher?.close();
  };
}

function openWatcher({ dir, onStream, onExit }: RunWatchOptions): FSWatcher | undefined {
  try {
    const watcher = watch(dir, (_, name) => {
      if (name === spoolFiles.stdout || name === spoolFiles.stderr) onStream();
      else if (name === spoolFiles.exit || name === null) onExit();
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
