import type { History } from '../history.js';
import type { Violation } from '../violation.js';
import { callsOf, logOf } from './reader-course.js';

/** Each run begins with RunStarted and has one RunFinished, its last event; readers end well right there. */
export function checkTerminal(history: History): Violation[] {
  const found: Violation[] = [];
  for (const [run, entries] of logOf(history)) {
    const ends = entries.filter(({ what }) => what === 'runFinished');
    const last = entries.at(-1);
    if (ends.length !== 1) {
      const piece = ends.length === 0 && last !== undefined ? [last] : ends;
      found.push({ guarantee: 'Terminal', run, why: `${ends.length} RunFinished`, piece });
    } else if (last?.what !== 'runFinished') {
      const piece = last === undefined ? ends : [...ends, last];
      found.push({ guarantee: 'Terminal', run, why: 'an event behind RunFinished', piece });
    }
    const [first] = entries;
    if (first !== undefined && first.what !== 'runStarted') {
      const why = 'it does not begin with RunStarted';
      found.push({ guarantee: 'Terminal', run, why, piece: [first] });
    }
  }
  for (const { reader, begin, saw, left } of callsOf(history)) {
    if (begin.run === '*') continue;
    const end = saw.findIndex(({ what }) => what === 'runFinished');
    const late = end < 0 ? undefined : saw[end + 1];
    if (late !== undefined) {
      const why = `reader ${reader} got ${late.what} behind the end`;
      found.push({ guarantee: 'Terminal', run: begin.run, why, piece: [late] });
    }
    if (
      left?.status === 'OK' &&
      end < 0 &&
      begin.after < (logOf(history).get(begin.run)?.length ?? 0)
    ) {
      const why = `reader ${reader} was ended well without RunFinished`;
      found.push({ guarantee: 'Terminal', run: begin.run, why, piece: [begin, left] });
    }
  }
  return found;
}
