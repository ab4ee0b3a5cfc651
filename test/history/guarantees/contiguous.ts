import { type Entry, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { callsOf, logOf } from './reader-course.js';

/** The sequences of a run are 1, 2, 3, … in the log, and without a hole to every reader of all of it. */
export function checkContiguous(history: History): Violation[] {
  const found: Violation[] = [];
  for (const [run, entries] of logOf(history)) {
    found.push(...withoutHole(run, 'the log', 0, entries));
  }
  for (const { reader, begin, saw } of callsOf(history)) {
    if (begin.run !== '*') {
      found.push(...withoutHole(begin.run, `reader ${reader}`, begin.after, saw));
      continue;
    }
    for (const [run, entries] of groupBy(saw, (entry) => entry.run)) {
      const first = entries[0]?.sequence ?? 1;
      found.push(...withoutHole(run, `reader ${reader}`, first - 1, entries));
    }
  }
  return found;
}

function withoutHole<T extends Entry & { readonly sequence: number }>(
  run: string,
  who: string,
  after: number,
  entries: readonly T[],
): Violation[] {
  let last = after;
  for (const entry of entries) {
    if (entry.sequence > last + 1) {
      const why = `${who} has ${entry.sequence} behind ${last}`;
      return [{ guarantee: 'Contiguous', run, why, piece: [entry] }];
    }
    last = Math.max(last, entry.sequence);
  }
  return [];
}
