import type { LogReader } from '../log/log-reader.js';
import type { StoredMessage } from '../log/stored-message.js';
import type { BatchHead } from './batch-walk.js';
import { brokenChain, followsChain, moveChain } from './chain-check.js';
import { type CutChoices, cutBatch } from './event-batch-cut.js';
import { fetchParts } from './fetch-parts.js';
import { headOf, type LaneEntry } from './live-lane.js';
import type { RunState, RunStates } from './run-states.js';
import { subjectPrefixOf } from './subject-filter.js';
import type { SubscribePlan } from './subscribe-plan.js';

/** What one subscription sends of the messages it is given, in stream order. */
export interface Delivery {
  /** Messages up to this stream sequence were looked at. */
  reached(): number;
  /** The caller knows that nothing selected stands up to `streamSequence`. */
  advance(streamSequence: number): void;
  /** Stream sequence that a cursor may name: `reached`, but never between the parts of an event. */
  bookmark(): number;
  /**
   * Adds what is selected of the entry's message; those up to `reached` are passed over. True if
   * it was the last of a run that is the only target. Fails with `LOG_HOLE` or `HISTORY_GONE`.
   */
  deliver(entry: LaneEntry): boolean | Promise<boolean>;
}

export interface DeliveryOptions {
  readonly plan: SubscribePlan;
  readonly states: RunStates;
  readonly add: (body: Uint8Array) => void;
  readonly reader: LogReader;
  /** Stream sequence after which to begin. */
  readonly after: number;
  /** Event sequence after which to begin; 0 for all. */
  readonly afterSequence: number;
  /** Deltas of turns up to this one are left out up to `closedUpTo` (a stream sequence). */
  readonly closedTurn: number;
  readonly closedUpTo: number;
  readonly signal: AbortSignal;
}

/** Big events of different runs that may be between their parts at once. */
const maxOpenEvents = 1024;

/** A delivery for one subscription. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { plan, states, add, reader } = options;
  let reached = options.after;
  /** Run → stream sequence before its first part, for events between their parts. */
  const open = new Map<string, number>();

  const deliver = (entry: LaneEntry): boolean | Promise<boolean> => {
    const { message } = entry;
    if (message.streamSequence <= reached) return false;
    const isWanted = wants(plan, message) && message.lastSequence > options.afterSequence;
    const state = isWanted ? states.of(message) : undefined;
    if (state === undefined) {
      reached = message.streamSequence;
      return false;
    }
    if (state instanceof Promise) {
      return state.then((found) => {
        if (found !== undefined) return deliverOf(found, message, headOf(entry));
        reached = message.streamSequence;
        return false;
      });
    }
    return deliverOf(state, message, headOf(entry));
  };

  const deliverOf = (
    state: RunState,
    message: StoredMessage,
    head: BatchHead,
  ): boolean | Promise<boolean> => {
    if (!followsChain(state.chain, message, head, plan.skipDeltas)) return refuse(state, message);
    const { part } = head;
    if (part !== undefined || open.size > 0) {
      if (part !== undefined && plan.skipDeltas) return deliverWithParts(state, message, head);
      if (part !== undefined && !joinsParts(state, part)) {
        // Its beginning lies before the start: nobody could put it together.
        if (state.chain.main !== undefined) return refuse(state, message);
        reached = message.streamSequence;
        return false;
      }
      if (message.class !== 'stderr') trackParts(message, part !== undefined && !part.isLast);
    }
    return finish(state, message, head);
  };

  const finish = (state: RunState, message: StoredMessage, head: BatchHead): boolean => {
    const body = cut(message);
    if (body !== undefined) add(body);
    moveChain(state.chain, message);
    reached = message.streamSequence;
    if (!head.endsRun) return false;
    states.forget(message.runId);
    return plan.target.kind === 'run';
  };

  const deliverWithParts = async (
    state: RunState,
    message: StoredMessage,
    head: BatchHead,
  ): Promise<boolean> => {
    if (head.part !== undefined) {
      const parts = await fetchParts(
        reader,
        subjectPrefixOf(message),
        head.part,
        state.chain.streamSequence + 1,
        message.streamSequence,
        options.signal,
      );
      if (parts === undefined) {
        if (state.chain.main !== undefined) return refuse(state, message);
        reached = message.streamSequence;
        return false;
      }
      for (const part of parts) add(part);
    }
    return finish(state, message, head);
  };

  const cut = (message: StoredMessage): Uint8Array | undefined => {
    const choices = choicesFor(message);
    return choices === undefined ? message.body : cutBatch(message.body, choices);
  };

  /** Undefined if nothing of the message is left out, without a look at its bytes. */
  const choicesFor = (message: StoredMessage): CutChoices | undefined => {
    const isTrimmed = message.firstSequence <= options.afterSequence;
    const dropsClosed = options.closedTurn > 0 && message.streamSequence <= options.closedUpTo;
    const mayHoldDeltas = message.class === 'step' || message.class === 'delta';
    const dropsDeltas = plan.skipDeltas && mayHoldDeltas;
    if (!isTrimmed && !dropsDeltas && !(dropsClosed && mayHoldDeltas)) return undefined;
    return {
      afterSequence: options.afterSequence,
      dropDeltas: dropsDeltas,
      closedTurn: dropsClosed ? options.closedTurn : 0,
    };
  };

  const refuse = async (state: RunState, message: StoredMessage): Promise<never> => {
    throw await brokenChain(reader, message, state.chain);
  };

  const trackParts = (message: StoredMessage, isOpen: boolean): void => {
    if (!isOpen) {
      open.delete(message.runId);
      return;
    }
    if (open.has(message.runId)) return;
    if (open.size >= maxOpenEvents) {
      const oldest = open.keys().next();
      if (oldest.done !== true) open.delete(oldest.value);
    }
    open.set(message.runId, message.streamSequence - 1);
  };

  return {
    reached: () => reached,
    advance: (streamSequence) => {
      if (streamSequence > reached) reached = streamSequence;
    },
    bookmark: () => {
      let place = reached;
      for (const before of open.values()) place = Math.min(place, before);
      return place;
    },
    deliver,
  };
}

function wants(plan: SubscribePlan, message: StoredMessage): boolean {
  switch (message.class) {
    case 'step':
      return true;
    case 'delta':
    case 'part':
      return !plan.skipDeltas;
    case 'stderr':
      return plan.includeStderr;
  }
}

/** Whether the reader can put this part to those before it. */
function joinsParts(state: RunState, part: { sequence: number; index: number }): boolean {
  if (part.index === 0) state.openEvent = part.sequence;
  return state.openEvent === part.sequence;
}
