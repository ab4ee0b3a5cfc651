import { isAlive, type ProcessIdentity } from '../child/process-identity.js';
import type { ProcessRecord } from './process-file.js';

const believedMs = 500;
const keepers = new Map<string, { readonly alive: boolean; readonly atMs: number }>();

/**
 * Whether a child is gone and so is the keeper that would have written how: nobody will ever say.
 * Cheap while the keeper lives.
 */
export function endedUnseen(child: ProcessRecord): boolean {
  return !keeperLives(child.keeper) && !isAlive(child);
}

/** Asks the system at most twice a second for each keeper, however many runs ask. */
function keeperLives(keeper: ProcessIdentity): boolean {
  const key = `${keeper.bootId} ${keeper.pid} ${keeper.startTime}`;
  const known = keepers.get(key);
  const atMs = performance.now();
  if (known !== undefined && (!known.alive || atMs - known.atMs < believedMs)) return known.alive;
  const alive = isAlive(keeper);
  keepers.set(key, { alive, atMs });
  return alive;
}
