import { type Entry, entriesOf, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { coursesOf, logOf } from './reader-course.js';

/** No event is in the log twice or comes to a reader twice; a cancel request is one event. */
export function checkUnique(history: History): Violation[] {
  const found: Violation[] = [];
  for (const [run, entries] of logOf(history)) found.push(...once(run, 'the log', entries));
  for (const [reader, calls] of coursesOf(history)) {
    const saw = calls.flatMap((call) => call.saw);
    for (const [run, entries] of groupBy(saw, (entry) => entry.run)) {
      found.push(...once(run, `reader ${reader}`, entries));
    }
  }
  const answers = groupBy(
    entriesOf(history, 'answered'),
    ({ run, requestId }) => `${run} ${requestId}`,
  );
  for (const entries of answers.values()) {
    const committed = entries.filter(({ sequence }) => sequence > 0);
    const [one, other] = committed;
    if (one === undefined || other === undefined) continue;
    const different = committed.find(({ sequence }) => sequence !== one.sequence);
    if (different === undefined) continue;
    const why = `request ${one.requestId} is at ${one.sequence} and at ${different.sequence}`;
    found.push({ guarantee: 'Unique', run: one.run, why, piece: [one, different] });
  }
  return found;
}

function once<T extends Entry & { readonly sequence: number }>(
  run: string,
  who: string,
  entries: readonly T[],
): Violation[] {
  const seen = new Map<number, T>();
  for (const entry of entries) {
    const before = seen.get(entry.sequence);
    if (before !== undefined) {
      const why = `${who} has ${entry.sequence} twice`;
      return [{ guarantee: 'Unique', run, why, piece: [before, entry] }];
    }
    seen.set(entry.sequence, entry);
  }
  return [];
}
