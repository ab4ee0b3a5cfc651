import { type Entry, entriesOf, type History, type Seen } from '../history.js';
import type { Violation } from '../violation.js';

/** Whatever a reader, a worker, a client or a canceller was shown is in the log, just as it was shown. */
export function checkCommittedBeforeVisible(history: History): Violation[] {
  const found: Violation[] = [];
  const log = new Map<string, Seen>();
  const lastOf = new Map<string, number>();
  for (const entry of entriesOf(history, 'stored')) {
    log.set(`${entry.run} ${entry.sequence}`, entry);
    lastOf.set(entry.run, Math.max(lastOf.get(entry.run) ?? 0, entry.sequence));
  }
  const report = (run: string, why: string, entry: Entry): void => {
    found.push({ guarantee: 'Committed-before-visible', run, why, piece: [entry] });
  };
  for (const entry of entriesOf(history, 'saw')) {
    const stored = log.get(`${entry.run} ${entry.sequence}`);
    if (stored === undefined) {
      report(entry.run, `reader ${entry.reader} saw ${entry.sequence}, the log has it not`, entry);
    } else if (stored.digest !== entry.digest) {
      report(entry.run, `reader ${entry.reader} saw another event as ${entry.sequence}`, entry);
    }
  }
  for (const entry of entriesOf(history, 'handled')) {
    if (entry.last <= (lastOf.get(entry.run) ?? 0)) continue;
    report(entry.run, `worker ${entry.worker} handled ${entry.last}, the log has it not`, entry);
  }
  for (const entry of entriesOf(history, 'acked')) {
    if (entry.sequence <= (lastOf.get(entry.run) ?? 0)) continue;
    report(entry.run, `${entry.sequence} was acknowledged, the log has it not`, entry);
  }
  for (const entry of entriesOf(history, 'answered')) {
    if (entry.sequence === 0) continue;
    if (log.get(`${entry.run} ${entry.sequence}`)?.what === 'cancelRequested') continue;
    report(entry.run, `a cancel was answered with ${entry.sequence}, which is none`, entry);
  }
  return found;
}
