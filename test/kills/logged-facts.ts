import type { RunFinished } from '#gen/hep/event/v1/event_pb.js';
import type { RunEvent } from '../../src/client/bridge-client.js';

/** What the events of a run say, as far as its verdict depends on it. */
export interface LoggedFacts {
  /** The last event, if it is RunFinished. */
  readonly finished: RunFinished | undefined;
  readonly finishedMs: number;
  readonly lastTerminal: 'turnDone' | 'turnError' | 'cancelled' | undefined;
  /** The last line is half a line. */
  readonly isCut: boolean;
  /** A signal was sent for a cancel, and arrived. */
  readonly isSignalled: boolean;
  /** Sequences of CancelRequested by request id. */
  readonly cancels: ReadonlyMap<string, readonly number[]>;
}

export function loggedFacts(events: readonly RunEvent[]): LoggedFacts {
  let lastTerminal: LoggedFacts['lastTerminal'];
  let isCut = false;
  let isSignalled = false;
  const cancels = new Map<string, number[]>();
  for (const { sequence, event } of events) {
    const { payload } = event;
    switch (payload.case) {
      case 'turnDone':
      case 'turnError':
      case 'cancelled':
        lastTerminal = payload.case;
        break;
      case 'malformedLine':
        isCut = true;
        break;
      case 'cancelSignalled':
        isSignalled ||= payload.value.error === '';
        break;
      case 'cancelRequested': {
        const { requestId } = payload.value;
        cancels.set(requestId, [...(cancels.get(requestId) ?? []), sequence]);
        break;
      }
    }
  }
  const last = events.at(-1);
  const finished =
    last?.event.payload.case === 'runFinished' ? last.event.payload.value : undefined;
  const finishedMs = (last?.timeUs ?? 0) / 1_000;
  return { finished, finishedMs, lastTerminal, isCut, isSignalled, cancels };
}
