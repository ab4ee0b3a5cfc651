import { BridgeError } from '../errors.js';
import type { ControlContext } from './context.js';

/** Throws `DRAINING` or `LIMIT_REACHED` if this gateway takes no more runs. */
export function refuseWhenFull({ owned, maxRuns, drain }: ControlContext): void {
  if (drain.isDraining) {
    throw new BridgeError('DRAINING', 'this gateway is going away and takes no new runs', {
      retryAfterMs: 1_000,
    });
  }
  if (owned.size < maxRuns) return;
  throw new BridgeError(
    'LIMIT_REACHED',
    `${owned.size} runs are live, the limit of this gateway; try again when one has ended`,
    { retryAfterMs: 1_000 },
  );
}
