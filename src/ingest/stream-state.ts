import type { Event } from '#gen/hep/event/v1/event_pb.js';
import { type FramePayload, frameTypes } from '../hep/frame-kind.js';
import { createOrderRules, type OrderRules } from '../hep/order-rules.js';
import { createHeaderGate, type HeaderGate } from './header-gate.js';
import { createStreamFacts, type StreamFacts } from './stream-facts.js';

/** What the lines to come are judged by: bounded, and rebuilt from the log by an adopting owner. */
export interface StreamState {
  readonly gate: HeaderGate;
  readonly rules: OrderRules;
  readonly facts: StreamFacts;
}

export function createStreamState(strict: boolean): StreamState {
  return { gate: createHeaderGate(strict), rules: createOrderRules(), facts: createStreamFacts() };
}

/** Takes a stored event of the run again; they must be given in order, from the first. */
export function restoreEvent(state: StreamState, event: Event): void {
  const { payload } = event;
  if (!isFrame(payload)) return;
  if (state.gate.state === 'before-header') state.gate.decide(payload, event.line);
  const turnId = 'turnId' in payload.value ? payload.value.turnId : undefined;
  state.rules.check(payload.case, turnId);
  state.facts.observe(payload, Number(event.sequence));
}

export function isFrame(payload: Event['payload']): payload is FramePayload {
  if (payload.case === undefined) return false;
  return payload.case in frameTypes || payload.case === 'unknownFrame';
}
