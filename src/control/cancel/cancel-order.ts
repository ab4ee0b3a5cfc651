import { create } from '@bufbuild/protobuf';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { v4 as uuidv4 } from 'uuid';
import {
  type CancelCause,
  type CancelRequested,
  CancelRequestedSchema,
} from '#gen/hep/event/v1/event_pb.js';
import type { Graces } from './graces.js';

/** A wish for a run's end. */
export interface CancelOrder {
  /** UUID in lower case, the idempotency key. */
  readonly requestId: string;
  readonly cause: CancelCause;
  /** Authenticated caller, or the policy; empty when callers are not told apart. */
  readonly actor: string;
  /** Caller's words, or what the policy saw. */
  readonly reason: string;
  /** Without the first grace. */
  readonly force?: boolean;
  /** Undefined: as the run has it. */
  readonly interruptGraceMs?: number;
  readonly terminateGraceMs?: number;
}

/** What the bridge itself, or a policy of the run, asks for. */
export function ownOrder(cause: CancelCause, actor: string, reason: string): CancelOrder {
  return { requestId: uuidv4(), cause, actor, reason };
}

/** The graces that an order asks for, where a run has `own`. */
export function orderedGraces(order: CancelOrder, own: Graces): Graces {
  return {
    interruptGraceMs: order.force === true ? 0 : (order.interruptGraceMs ?? own.interruptGraceMs),
    terminateGraceMs: order.terminateGraceMs ?? own.terminateGraceMs,
  };
}

export function encodeOrder(order: CancelOrder): CancelRequested {
  const { requestId, cause, actor, reason, force = false } = order;
  const message = create(CancelRequestedSchema, { requestId, cause, actor, reason, force });
  if (order.interruptGraceMs !== undefined) {
    message.interruptGrace = durationFromMs(order.interruptGraceMs);
  }
  if (order.terminateGraceMs !== undefined) {
    message.terminateGrace = durationFromMs(order.terminateGraceMs);
  }
  return message;
}

export function decodeOrder(message: CancelRequested): CancelOrder {
  const { requestId, cause, actor, reason, force, interruptGrace, terminateGrace } = message;
  return {
    requestId,
    cause,
    actor,
    reason,
    force,
    ...(interruptGrace === undefined ? {} : { interruptGraceMs: durationMs(interruptGrace) }),
    ...(terminateGrace === undefined ? {} : { terminateGraceMs: durationMs(terminateGrace) }),
  };
}
