import { create } from '@bufbuild/protobuf';
import {
  type CancelCause,
  CancelRequestedSchema,
  CancelSignalledSchema,
} from '#gen/hep/event/v1/event_pb.js';
import type { Run } from '../ingest/run.js';

export interface CancelOrder {
  /** UUID, the idempotency key. */
  readonly requestId: string;
  readonly cause: CancelCause;
  /** Authenticated caller; empty when callers are not told apart. */
  readonly actor: string;
  /** Caller's words. */
  readonly reason: string;
}

/** A signal that was sent, or could not be. */
export interface SignalReport {
  /** `SIGINT`, `SIGTERM` or `SIGKILL`. */
  readonly signal: string;
  readonly processGroup: boolean;
  /** Empty if sent. */
  readonly error: string;
}

/** Where a run's owner takes cancels: each request once, and one escalation for all of them. */
export interface CancelDesk {
  /** The request that the escalation serves: the first one. */
  readonly serving: CancelOrder | undefined;
  /** A signal was sent for a cancel. */
  readonly signalled: boolean;
  /** Resolves with the sequence of CancelRequested when it is committed. */
  request(order: CancelOrder): Promise<number>;
  /** Writes CancelSignalled; does not wait for its commit. */
  report(report: SignalReport, requestId?: string): void;
}

/**
 * `deliver` is called once, with the first request, at once: signals never wait for the log. The
 * events of a request and of its signals follow in the order in which things happened.
 */
export function createCancelDesk(run: Run, deliver: (order: CancelOrder) => void): CancelDesk {
  const requests = new Map<string, Promise<number>>();
  let serving: CancelOrder | undefined;
  let signalled = false;

  return {
    get serving() {
      return serving;
    },
    get signalled() {
      return signalled;
    },
    request(order) {
      const known = requests.get(order.requestId);
      if (known !== undefined) return known;
      const committed = run.append({
        case: 'cancelRequested',
        value: create(CancelRequestedSchema, order),
      });
      requests.set(order.requestId, committed);
      if (serving === undefined) {
        serving = order;
        deliver(order);
      }
      return committed;
    },
    report({ signal, processGroup, error }, requestId = serving?.requestId ?? '') {
      if (error === '') signalled = true;
      const value = create(CancelSignalledSchema, { requestId, signal, processGroup, error });
      // A failure of the log reaches the run's owner through `onFailure`.
      run.append({ case: 'cancelSignalled', value }).catch(() => undefined);
    },
  };
}
