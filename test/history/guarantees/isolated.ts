import type { History } from '../history.js';
import type { Violation } from '../violation.js';
import { callsOf, logOf } from './reader-course.js';

/** A run that nothing was done to ends as it would alone, and its readers get all of it. */
export function checkIsolated(history: History): Violation[] {
  const found: Violation[] = [];
  const log = logOf(history);
  for (const [run, expected] of history.terms.bystanders) {
    const last = log.get(run)?.at(-1);
    const outcome = last?.end?.outcome ?? 'no end';
    if (outcome !== expected) {
      const why = `nothing was done to it, and it ended as ${outcome}, not ${expected}`;
      found.push({ guarantee: 'Isolated', run, why, piece: last === undefined ? [] : [last] });
    }
  }
  for (const { reader, begin, left } of callsOf(history)) {
    if (!history.terms.bystanders.has(begin.run) || left === undefined) continue;
    if (['OK', 'LEFT', 'CUT'].includes(left.status)) continue;
    const why = `reader ${reader} of a run that nothing was done to ended with ${left.status}`;
    found.push({ guarantee: 'Isolated', run: begin.run, why, piece: [begin, left] });
  }
  return found;
}
