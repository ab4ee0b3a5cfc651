import type { CancelSignal } from '../spool/layout.js';
import { markSignal, type SignalMark } from '../spool/signal-file.js';

/** Where it is on record which signals a run was sent, so that none is sent twice. */
export interface SignalMarks {
  /** Puts a signal on record; only the first call for a signal, ever, is told that it is the first. */
  mark(signal: CancelSignal): Promise<SignalMark>;
}

/** Marks that last as long as this object: for a process that no restart can take up again. */
export function memoryMarks(): SignalMarks {
  const marked = new Map<CancelSignal, number>();
  return {
    mark: async (signal) => {
      const atMs = marked.get(signal);
      if (atMs !== undefined) return { first: false, atMs };
      marked.set(signal, Date.now());
      return { first: true, atMs: Date.now() };
    },
  };
}

/**
 * Marks in a run's spool directory, which a restarted bridge finds. If the disk refuses them (full,
 * most likely, and then a cancel matters most) the signal is still sent once by this process.
 */
export function spoolMarks(dir: string): SignalMarks {
  const memory = memoryMarks();
  return {
    mark: async (signal) => {
      const here = await memory.mark(signal);
      if (!here.first) return here;
      try {
        return await markSignal(dir, signal);
      } catch {
        return here;
      }
    },
  };
}
