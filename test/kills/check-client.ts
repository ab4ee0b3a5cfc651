import type { Circumstances } from './circumstances.js';
import { outcomeText } from './expected-outcome.js';
import type { LoggedFacts } from './logged-facts.js';

/** Codes that say that somebody is away for now. */
const AWAY: ReadonlySet<string> = new Set([
  'BRIDGE_UNREACHABLE',
  'DRAINING',
  'LOG_UNAVAILABLE',
  'NATS_UNREACHABLE',
  'OWNER_UNREACHABLE',
]);

/** What an Ingest client was told agrees with the log, and it was refused for good reasons only. */
export function checkClient(
  { feed }: Circumstances,
  { finished }: LoggedFacts,
  lastSequence: number,
): string[] {
  const wrong: string[] = [];
  const isLost = finished?.synthetic === true;
  for (const entry of feed) {
    if (entry.kind === 'cut' || entry.kind === 'refused' || entry.kind === 'gave-up') {
      // Another has ended the run; then its client has nobody to go to.
      const isFenced = entry.code === 'FENCED' && isLost;
      if (AWAY.has(entry.code) || isFenced) continue;
      wrong.push(`client ${entry.kind}: ${entry.code} ${entry.message}`);
    }
    if (entry.kind !== 'finished' || finished === undefined) continue;
    const told = `${outcomeText(entry.outcome, entry.reason)} at ${entry.lastSequence}`;
    const truth = `${outcomeText(finished.outcome, finished.reason)} at ${lastSequence}`;
    if (told !== truth) wrong.push(`client was told ${told}, the log has ${truth}`);
  }
  return wrong;
}
