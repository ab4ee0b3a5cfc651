import { BridgeError } from '../../errors.js';
import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import type { OwnedRun } from '../own/owned-run.js';

/** Lets go of a run if its record says that another owner has it; true if so. */
export function loseToOwner(
  { ownerId }: Pick<ControlContext, 'ownerId'>,
  owned: OwnedRun,
  { run }: RunRecord,
): boolean {
  if (run.ownerId === ownerId) return false;
  owned.lose(new BridgeError('FENCED', `owner ${run.ownerId} has taken run ${run.runId} over`));
  return true;
}
