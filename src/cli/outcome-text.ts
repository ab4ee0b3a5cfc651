import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';

/** `COMPLETED (TURN_DONE)`; numbers where this version knows no name. */
export function outcomeText(outcome: Outcome, reason: OutcomeReason): string {
  const outcomeName = Outcome[outcome] ?? String(outcome);
  if (reason === OutcomeReason.UNSPECIFIED) return outcomeName;
  return `${outcomeName} (${OutcomeReason[reason] ?? String(reason)})`;
}
