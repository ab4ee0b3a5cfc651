import { checkBookmarkable } from './guarantees/bookmarkable.js';
import { checkCancelTerminates } from './guarantees/cancel-terminates.js';
import { checkCommittedBeforeVisible } from './guarantees/committed-before-visible.js';
import { checkContiguous } from './guarantees/contiguous.js';
import { checkHonestLoss } from './guarantees/honest-loss.js';
import { checkIsolated } from './guarantees/isolated.js';
import { checkLossless } from './guarantees/lossless.js';
import { checkOrdered } from './guarantees/ordered.js';
import { checkResumable } from './guarantees/resumable.js';
import { checkTerminal } from './guarantees/terminal.js';
import { checkUnique } from './guarantees/unique.js';
import type { History } from './history.js';
import type { Guarantee, Violation } from './violation.js';

/** The check of each guarantee by its name. */
export const checks: Readonly<Record<Guarantee, (history: History) => Violation[]>> = {
  Ordered: checkOrdered,
  Contiguous: checkContiguous,
  Unique: checkUnique,
  Lossless: checkLossless,
  'Committed-before-visible': checkCommittedBeforeVisible,
  Resumable: checkResumable,
  Bookmarkable: checkBookmarkable,
  Terminal: checkTerminal,
  'Cancel-terminates': checkCancelTerminates,
  Isolated: checkIsolated,
  'Honest-loss': checkHonestLoss,
};

/** Holds a whole history against every guarantee. */
export function checkHistory(history: History): readonly Violation[] {
  return Object.values(checks).flatMap((check) => check(history));
}
