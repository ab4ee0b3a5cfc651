import { type Entry, entriesOf, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { callsOf } from './reader-course.js';

/** Each reader sees the events of a run in the order of their sequences; so does each worker. */
export function checkOrdered(history: History): Violation[] {
  const found: Violation[] = [];
  const stored = groupBy(entriesOf(history, 'stored'), ({ run }) => run);
  for (const [run, entries] of stored) found.push(...rising(run, 'the log', entries));
  for (const { reader, saw } of callsOf(history)) {
    for (const [run, entries] of groupBy(saw, (entry) => entry.run)) {
      found.push(...rising(run, `reader ${reader}`, entries));
    }
  }
  // A message may come again, but none for the first time before one that comes before it.
  for (const [run, entries] of groupBy(entriesOf(history, 'handled'), (entry) => entry.run)) {
    let highest = 0;
    const known = new Set<number>();
    for (const entry of entries) {
      if (!known.has(entry.first) && entry.first < highest) {
        found.push(violation(run, `worker ${entry.worker} got ${entry.first} late`, [entry]));
      }
      known.add(entry.first);
      highest = Math.max(highest, entry.first);
    }
  }
  return found;
}

function rising<T extends Entry & { readonly sequence: number }>(
  run: string,
  who: string,
  entries: readonly T[],
): Violation[] {
  for (let at = 1; at < entries.length; at += 1) {
    const [before, entry] = [entries[at - 1], entries[at]];
    if (before === undefined || entry === undefined || entry.sequence >= before.sequence) continue;
    const why = `${who} has ${entry.sequence} after ${before.sequence}`;
    return [violation(run, why, [before, entry])];
  }
  return [];
}

function violation(run: string, why: string, piece: readonly Entry[]): Violation {
  return { guarantee: 'Ordered', run, why, piece };
}
