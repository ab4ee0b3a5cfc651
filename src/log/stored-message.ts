import type { MessageClass } from '../ingest/run-log.js';

/** A message as the log holds it. */
export interface StoredMessage {
  /** Position in the stream, from 1. */
  readonly streamSequence: number;
  /** Tenant token as it stands in the subject (escaped). */
  readonly tenantToken: string;
  readonly partition: number;
  readonly runId: string;
  readonly class: MessageClass;
  /** First and last event sequence in the body, both inclusive, from the `Hep-Commit` header. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** An encoded `EventBatch`; stays valid, never written to. */
  readonly body: Uint8Array;
}
