import { BridgeError } from '../errors.js';
import type { ControlContext } from './context.js';

/** Throws `DRAINING`, `LOG_UNAVAILABLE` or `LIMIT_REACHED` if this gateway takes no new runs. */
export function checkIntake(context: ControlContext): void {
  const { owned, maxRuns, intake, lostAfterMs } = context;
  if (intake.isDraining) {
    throw new BridgeError('DRAINING', 'this gateway is going away and takes no new runs', {
      retryAfterMs: 1_000,
    });
  }
  // Another gateway may be about to take this one for lost, with all that it owns.
  if (performance.now() - intake.beatenMs > lostAfterMs / 2) {
    throw new BridgeError(
      'LOG_UNAVAILABLE',
      'NATS has not acknowledged a heartbeat of this gateway for too long; it takes no new runs until then',
      { retryAfterMs: 1_000 },
    );
  }
  if (owned.size < maxRuns) return;
  throw new BridgeError(
    'LIMIT_REACHED',
    `${owned.size} runs are live, the limit of this gateway; try again when one has ended`,
    { retryAfterMs: 1_000 },
  );
}
