import { setTimeout as delay } from 'node:timers/promises';
import { toBridgeError } from '../../errors.js';
import type { ControlContext } from '../context.js';

const RETRY_MS = 250;

/**
 * Takes up one run of an earlier bridge; true if this gateway has it now. A log that does not answer is
 * waited for. What else fails harms no other run: this one waits for the next start.
 */
export async function adoptOne(
  context: ControlContext,
  runId: string,
  adopt: () => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    try {
      return await adopt();
    } catch (thrown) {
      const { code, message } = toBridgeError(thrown);
      const isAway = code === 'LOG_UNAVAILABLE' && !context.owned.has(runId);
      if (!isAway || context.stopping.aborted) {
        context.logger.error({ run_id: runId, code }, `run not taken up: ${message}`);
        return false;
      }
    }
    await delay(RETRY_MS);
  }
}
