import { entriesOf, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { logOf } from './reader-course.js';

/**
 * What is not known, or not kept, is said: an end that nobody saw is synthetic and says why, and nobody is
 * called lost that was not away for so long; an observed end is never synthetic; what RunFinished counts is
 * what stands in the log.
 */
export function checkHonestLoss(history: History): Violation[] {
  const found: Violation[] = [];
  const { lostAfterMs } = history.terms;
  const faults = entriesOf(history, 'fault');
  const exits = groupBy(entriesOf(history, 'exited'), ({ run }) => run);
  for (const [run, entries] of logOf(history)) {
    const last = entries.at(-1);
    const end = last?.end;
    if (last === undefined || end === undefined) continue;
    const report = (why: string): void => {
      found.push({ guarantee: 'Honest-loss', run, why, piece: [last] });
    };
    if (end.outcome === 'LOST' && !end.synthetic) report('LOST, and not marked as synthetic');
    if (end.synthetic && end.detail === '') report('a synthetic end that does not say why');
    if (end.synthetic && end.observed) report('a synthetic end that says how the process ended');
    if (end.observed && exits.get(run) === undefined && history.terms.bystanders.has(run)) {
      report('an exit was observed that the agent does not know');
    }
    const wasAway = faults.some(
      (fault) =>
        fault.timeMs <= last.timeMs - lostAfterMs && (fault.run === undefined || fault.run === run),
    );
    if (end.outcome === 'LOST' && !wasAway) report('called lost, and nobody was away for so long');
    const bytes = entries.reduce(
      (sum, { line }) => sum + (line === undefined ? 0 : Buffer.byteLength(line) + 1),
      0,
    );
    if (end.outcome !== 'REFUSED' && end.stdoutBytes !== bytes) {
      report(`it says ${end.stdoutBytes} bytes of stdout, the log has ${bytes}`);
    }
  }
  return found;
}
