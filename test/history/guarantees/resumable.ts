import type { History } from '../history.js';
import type { Violation } from '../violation.js';
import { coursesOf, logOf } from './reader-course.js';

/**
 * A reader of one run that was cut goes on behind the last event that it saw, and so gets, over all its
 * calls, the whole run.
 */
export function checkResumable(history: History): Violation[] {
  const found: Violation[] = [];
  const log = logOf(history);
  for (const [reader, calls] of coursesOf(history)) {
    const [first] = calls;
    if (first === undefined || first.begin.run === '*') continue;
    const { run } = first.begin;
    let reached = first.begin.after;
    for (const { begin, saw } of calls) {
      const next = saw[0];
      if (next !== undefined && next.sequence !== reached + 1) {
        const why = `reader ${reader} stood at ${reached}, went on by ${begin.by}, got ${next.sequence}`;
        found.push({ guarantee: 'Resumable', run, why, piece: [begin, next] });
      }
      reached = saw.at(-1)?.sequence ?? reached;
    }
    const last = calls.at(-1);
    const stored = log.get(run)?.length ?? 0;
    if (last?.left?.status === 'OK' && reached !== stored) {
      const why = `reader ${reader} ended well at ${reached}, the run has ${stored} events`;
      found.push({ guarantee: 'Resumable', run, why, piece: [last.left] });
    }
  }
  return found;
}
