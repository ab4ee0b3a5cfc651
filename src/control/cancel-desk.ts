import { create } from '@bufbuild/protobuf';
import {
  type CancelCause,
  CancelRequestedSchema,
  CancelSignalledSchema,
} from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../errors.js';
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
  /** A signal was sent for a cancel. */
  readonly signalled: boolean;
  /**
   * Resolves with the sequence of CancelRequested when it is committed. Rejects with `RUN_FINISHED`
   * when the run is ending, `LIMIT_REACHED` beyond `MAX_REQUESTS`.
   */
  request(order: CancelOrder): Promise<number>;
  /**
   * An adopting owner goes on with requests that the log holds already (id and sequence of each), and
   * knows whether a signal was sent for one.
   */
  resume(committed: ReadonlyMap<string, number>, wasSignalled: boolean): void;
  /** Writes CancelSignalled, once for each request and signal; does not wait for its commit. */
  report(report: SignalReport, requestId?: string): void;
}

/** Cancel requests that one run takes; each is an event of the run. */
export const MAX_REQUESTS = 256;

/**
 * `deliver` is called once, with the first request, at once: signals never wait for the log. The
 * events of a request and of its signals follow in the order in which things happened.
 */
export function createCancelDesk(run: Run, deliver: (requestId: string) => void): CancelDesk {
  const requests = new Map<string, Promise<number>>();
  const reported = new Set<string>();
  let serving: string | undefined;
  let signalled = false;

  function serve(requestId: string): void {
    if (serving !== undefined) return;
    serving = requestId;
    deliver(requestId);
  }

  return {
    get signalled() {
      return signalled;
    },
    request(order) {
      const known = requests.get(order.requestId);
      if (known !== undefined) return known;
      if (requests.size >= MAX_REQUESTS) {
        const text = `run ${run.runId} has ${MAX_REQUESTS} cancel requests already`;
        return Promise.reject(new BridgeError('LIMIT_REACHED', text));
      }
      const value = create(CancelRequestedSchema, order);
      const committed = run.append({ case: 'cancelRequested', value });
      requests.set(order.requestId, committed);
      serve(order.requestId);
      return committed;
    },
    resume(committed, wasSignalled) {
      signalled ||= wasSignalled;
      for (const [requestId, sequence] of committed) {
        requests.set(requestId, Promise.resolve(sequence));
        serve(requestId);
      }
    },
    report({ signal, processGroup, error }, requestId = serving ?? '') {
      // A client tells of a signal again after it had to open again.
      const what = `${requestId} ${signal} ${error}`;
      if (reported.has(what)) return;
      if (reported.size < MAX_REQUESTS) reported.add(what);
      if (error === '') signalled = true;
      const value = create(CancelSignalledSchema, { requestId, signal, processGroup, error });
      // A failure of the log reaches the run's owner through `onFailure`.
      run.append({ case: 'cancelSignalled', value }).catch(() => undefined);
    },
  };
}
