import { type EntryOf, entriesOf, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';

/**
 * A cancel that was answered is followed by the run's end within the graces, longer only by the times in
 * which a party stood still or was away; and at most one SIGINT reaches the agent.
 */
export function checkCancelTerminates(history: History): Violation[] {
  const found: Violation[] = [];
  const { cancelWithinMs } = history.terms;
  const faults = entriesOf(history, 'fault');
  const ends = new Map<string, EntryOf<'stored'>>();
  for (const entry of entriesOf(history, 'stored')) {
    if (entry.what === 'runFinished') ends.set(entry.run, entry);
  }
  for (const answer of entriesOf(history, 'answered')) {
    const end = ends.get(answer.run);
    if (end === undefined) {
      const why = 'it was cancelled and has no end';
      found.push({ guarantee: 'Cancel-terminates', run: answer.run, why, piece: [answer] });
      continue;
    }
    const tookMs = end.timeMs - answer.timeMs;
    const isCalm = !faults.some(
      ({ timeMs }) => timeMs > answer.timeMs - cancelWithinMs && timeMs < end.timeMs,
    );
    if (isCalm && tookMs > cancelWithinMs) {
      const why = `its end came ${Math.round(tookMs)} ms after the cancel, ${cancelWithinMs} are allowed`;
      found.push({ guarantee: 'Cancel-terminates', run: answer.run, why, piece: [answer, end] });
    }
  }
  for (const [run, signals] of groupBy(entriesOf(history, 'got'), (entry) => entry.run)) {
    const interrupts = signals.filter(({ signal }) => signal === 'SIGINT');
    if (interrupts.length < 2) continue;
    const why = `${interrupts.length} SIGINT reached the agent`;
    found.push({ guarantee: 'Cancel-terminates', run, why, piece: interrupts });
  }
  return found;
}
