import { create } from '@bufbuild/protobuf';
import { CancelSignalledSchema } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../../errors.js';
import type { Run } from '../../ingest/run.js';
import { type CancelOrder, encodeOrder, orderedGraces } from './cancel-order.js';
import { type Graces, sameGraces, shortestGraces } from './graces.js';

/** A signal that was sent, or could not be. */
export interface SignalReport {
  /** `SIGINT`, `SIGTERM` or `SIGKILL`. */
  readonly signal: string;
  readonly processGroup: boolean;
  /** Empty if sent. */
  readonly error: string;
}

/** A cancel that the log holds. */
export interface CommittedOrder {
  readonly order: CancelOrder;
  /** Of CancelRequested. */
  readonly sequence: number;
}

/** Where a run's owner takes cancels: each request once, and one escalation for all of them. */
export interface CancelDesk {
  /** The first request; undefined if there was none. */
  readonly first: CancelOrder | undefined;
  /** A signal was sent for a cancel. */
  readonly signalled: boolean;
  /**
   * Resolves with the sequence of CancelRequested when it is committed. Rejects with `RUN_FINISHED`
   * when the run is ending, `LIMIT_REACHED` beyond `MAX_REQUESTS`.
   */
  request(order: CancelOrder): Promise<number>;
  /**
   * An adopting owner goes on with requests that the log holds already, in its order, and knows
   * whether a signal was sent for one.
   */
  resume(committed: readonly CommittedOrder[], wasSignalled: boolean): void;
  /** Writes CancelSignalled, once for each request and signal; does not wait for its commit. */
  report(report: SignalReport, requestId: string): void;
}

/** Brings a request to the agent, at once: signals never wait for the log. */
export type DeliverCancel = (requestId: string, graces: Graces) => void;

/** Cancel requests that one run takes; each is an event of the run. */
export const MAX_REQUESTS = 256;

/**
 * `deliver` is called with the first request, and again when a later one shortens the graces (of several the
 * shortest hold). The events of a request and of its signals follow in the order in which things
 * happened. `own`: the run's graces, where a request names none.
 */
export function createCancelDesk(run: Run, own: Graces, deliver: DeliverCancel): CancelDesk {
  const requests = new Map<string, Promise<number>>();
  const reported = new Set<string>();
  let first: CancelOrder | undefined;
  let graces: Graces | undefined;
  let signalled = false;

  /** True if the agent must be told. */
  function take(order: CancelOrder): boolean {
    first ??= order;
    const asked = orderedGraces(order, own);
    const next = graces === undefined ? asked : shortestGraces(graces, asked);
    const isNews = graces === undefined || !sameGraces(graces, next);
    graces = next;
    return isNews;
  }

  return {
    get first() {
      return first;
    },
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
      const committed = run.append({ case: 'cancelRequested', value: encodeOrder(order) });
      requests.set(order.requestId, committed);
      if (take(order) && graces !== undefined) deliver(order.requestId, graces);
      return committed;
    },
    resume(committed, wasSignalled) {
      signalled ||= wasSignalled;
      for (const { order, sequence } of committed) {
        requests.set(order.requestId, Promise.resolve(sequence));
        take(order);
      }
      if (first !== undefined && graces !== undefined) deliver(first.requestId, graces);
    },
    report({ signal, processGroup, error }, requestId) {
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
