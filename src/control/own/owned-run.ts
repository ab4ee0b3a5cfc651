import type { RunFinished } from '#gen/hep/event/v1/event_pb.js';
import type { BridgeError } from '../../errors.js';
import type { Run } from '../../ingest/run.js';
import type { RunEnd } from '../../ingest/run-finished.js';
import type { RunRecord } from '../../log/run-record.js';
import type { CancelDesk } from '../cancel/cancel-desk.js';

/** How a source ended; what was asked and signalled the desk knows. */
export type SourceEnd = Omit<RunEnd, 'cancel' | 'cancelSignalled'>;

/** A run that this gateway writes. */
export interface OwnedRun {
  readonly run: Run;
  readonly desk: CancelDesk;
  /** Where its source comes from. */
  readonly kind: 'child' | 'ingest';
  /** The projection as it is now. */
  readonly record: RunRecord;
  /** Resolves with RunFinished once it is committed; rejects if the log took the run away. */
  readonly finished: Promise<RunFinished>;
  /** Resolves when nothing of the run is left to do here: its record is written, or it is lost. */
  readonly closed: Promise<void>;
  /** What took the run away from this owner; undefined while it owns it. */
  readonly failure: BridgeError | undefined;
  /** `finish` was called: its end is on its way into the log, or there. */
  readonly isEnding: boolean;
  /** Holds the run to its policies; `nowMs` is monotonic. */
  tick(nowMs: number): void;
  /** Another gateway has the run: this one writes nothing more. */
  lose(error: BridgeError): void;
  /** Ends the run; the second call and later ones do nothing. */
  finish(end: SourceEnd): void;
}
