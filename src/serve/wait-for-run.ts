import { BridgeError } from '../errors.js';
import type { LogReader } from '../log/log-reader.js';
import type { LiveWindow } from './live-window.js';
import type { KnownRun } from './run-lookup.js';

/** Between two looks at the records, for a run whose first message was missed. */
const lookAgainMs = 1_000;

/** Fails with `RUN_NOT_FOUND`. */
export function runNotFound(runId: string): BridgeError {
  return new BridgeError('RUN_NOT_FOUND', `there is no run ${runId}`, {
    metadata: { run_id: runId },
  });
}

/**
 * The run, as soon as it exists; `lookup` is asked when the live window shows a message of it. Fails
 * with `RUN_NOT_FOUND` after `waitMs`, or with the signal's reason.
 */
export async function waitForRun(
  reader: LogReader,
  window: LiveWindow,
  runId: string,
  lookup: () => Promise<KnownRun | undefined>,
  waitMs: number,
  signal: AbortSignal,
): Promise<KnownRun> {
  const deadline = performance.now() + waitMs;
  const hold = await window.hold();
  const { lastStreamSequence } = await reader.bounds().catch((thrown: unknown) => {
    hold.release();
    throw thrown;
  });
  const seat = hold.sit(lastStreamSequence, runId);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort);
  let arrival = seat?.next(1, stop.signal);
  arrival?.catch(ignore);
  try {
    for (let isOver = false; ; ) {
      signal.throwIfAborted();
      const run = await lookup();
      if (run !== undefined) return run;
      if (isOver) throw runNotFound(runId);
      const restMs = deadline - performance.now();
      isOver = restMs <= lookAgainMs;
      const hasArrived = await firstOf(
        arrival,
        Math.max(0, Math.min(restMs, lookAgainMs)),
        stop.signal,
      );
      if (hasArrived) arrival = undefined;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort(new BridgeError('CANCELLED', 'no longer waiting for the run'));
    seat?.leave();
    hold.release();
  }
}

/** Waits for `arrival`, `waitMs` or the signal, whichever is first; true if it was `arrival`. */
function firstOf(
  arrival: Promise<unknown> | undefined,
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', settle);
      resolve(false);
    };
    const timer = setTimeout(settle, waitMs);
    signal.addEventListener('abort', settle);
    arrival?.then(
      () => {
        resolve(true);
        settle();
      },
      (thrown: unknown) => {
        reject(thrown);
        settle();
      },
    );
  });
}

function ignore(): void {}
