import { groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { callsOf } from './reader-course.js';

/**
 * A cursor names all that was delivered with it and before: of each run the call that begins there goes on
 * with the next event, also for a reader of many runs.
 */
export function checkBookmarkable(history: History): Violation[] {
  const found: Violation[] = [];
  const reached = new Map<string, number>();
  for (const { reader, begin, saw } of callsOf(history)) {
    for (const [run, entries] of groupBy(saw, (entry) => entry.run)) {
      const key = `${reader} ${run}`;
      const before = reached.get(key);
      const [first] = entries;
      if (begin.by === 'cursor' && before !== undefined && first?.sequence !== before + 1) {
        const why = `reader ${reader} had ${before}, its cursor goes on with ${first?.sequence}`;
        const piece = first === undefined ? [begin] : [begin, first];
        found.push({ guarantee: 'Bookmarkable', run, why, piece });
      }
      reached.set(key, entries.at(-1)?.sequence ?? before ?? 0);
    }
  }
  return found;
}
