import { entriesOf, groupBy, type History } from '../history.js';
import type { Violation } from '../violation.js';
import { logOf } from './reader-course.js';

/**
 * The stored lines of a run are those that its agent wrote, byte for byte and in order, from the first on;
 * all of them where its exit was observed; and at least what a client was told is committed.
 */
export function checkLossless(history: History): Violation[] {
  const found: Violation[] = [];
  const wrote = groupBy(entriesOf(history, 'wrote'), ({ run }) => run);
  const acked = groupBy(entriesOf(history, 'acked'), ({ run }) => run);
  for (const [run, entries] of logOf(history)) {
    const lines = entries.filter((entry) => entry.line !== undefined);
    const source = wrote.get(run) ?? [];
    const at = lines.findIndex((entry, index) => entry.line !== source[index]?.line);
    const wrong = lines[at];
    if (wrong !== undefined) {
      const there = source[at];
      const why = `line ${at + 1} of the log is not what the agent wrote`;
      const piece = there === undefined ? [wrong] : [there, wrong];
      found.push({ guarantee: 'Lossless', run, why, piece });
      continue;
    }
    const last = entries.at(-1);
    const missing = source[lines.length];
    if (last?.end?.observed === true && missing !== undefined) {
      const why = `${source.length - lines.length} lines that the agent wrote are not in the log`;
      found.push({ guarantee: 'Lossless', run, why, piece: [missing, last] });
    }
    const bytes = lines.reduce((sum, { line = '' }) => sum + Buffer.byteLength(line) + 1, 0);
    const lost = acked.get(run)?.find((ack) => ack.bytes > bytes);
    if (lost !== undefined) {
      const why = `${lost.bytes} bytes were acknowledged, ${bytes} are stored`;
      found.push({ guarantee: 'Lossless', run, why, piece: [lost] });
    }
  }
  return found;
}
