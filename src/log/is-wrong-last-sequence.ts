import { JetStreamApiError } from '@nats-io/jetstream';

/** The server's codes for a message that was to be stored on top of another one. */
export const WRONG_LAST_SEQUENCE = 10_071;
/** The same in a cluster whose leader does not know the last sequence at this moment. */
export const WRONG_LAST_SEQUENCE_UNKNOWN = 10_164;

/** Whether NATS refused a write, since something else stands there. */
export function isWrongLastSequence(thrown: unknown): boolean {
  if (!(thrown instanceof JetStreamApiError)) return false;
  return thrown.code === WRONG_LAST_SEQUENCE || thrown.code === WRONG_LAST_SEQUENCE_UNKNOWN;
}
