import { setTimeout as delay } from 'node:timers/promises';
import type { ControlContext } from '../context.js';

/** Waits until this gateway has no live runs, at most `limitMs`. It must not take new ones any more. */
export async function drainRuns(context: ControlContext, limitMs: number): Promise<void> {
  const { owned, logger } = context;
  if (owned.size === 0) return;
  logger.info({ runs: owned.size, limit_ms: limitMs }, 'draining: waiting for live runs to end');
  const over = new AbortController();
  let isOver = false;
  const limit = delay(limitMs, undefined, { signal: over.signal }).then(
    () => {
      isOver = true;
    },
    () => undefined,
  );
  while (owned.size > 0 && !isOver) {
    const ends = Promise.all(Array.from(owned.values(), ({ closed }) => closed));
    await Promise.race([ends, limit]);
  }
  over.abort();
  if (owned.size > 0) logger.warn({ runs: owned.size }, 'the limit of draining has passed');
}
