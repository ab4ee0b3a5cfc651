import { create } from '@bufbuild/protobuf';
import {
  type ProtocolViolation,
  ProtocolViolation_Rule,
  ProtocolViolationSchema,
} from '#gen/hep/event/v1/event_pb.js';
import { type FrameKind, frameTypes } from './frame-kind.js';

/** Judges the order of one stream's frames; fed with every frame, in order. */
export interface OrderRules {
  /**
   * Takes the next frame in and returns the first rule that it breaks, if any. `turnId` is
   * undefined for frames without one that fits. Allocates only for a violation.
   */
  check(kind: FrameKind, turnId: number | bigint | undefined): ProtocolViolation | undefined;
}

/**
 * Rules for a stream that has not begun. What HEP allows is not flagged: rounds after terminals,
 * gaps, missing agent_start or compaction_end, several message_start, unknown frames.
 */
export function createOrderRules(): OrderRules {
  let headerSeen = false;
  let agentStartSeen = false;
  let highestTurn: number | bigint = 0;
  let closedTurn: number | bigint = 0;

  function brokenRule(
    kind: FrameKind,
    turnId: number | bigint | undefined,
  ): ProtocolViolation | undefined {
    if (kind === 'unknownFrame') return undefined;
    if (kind === 'hepHeader' && headerSeen) return outOfOrder('', 'second hep_header');
    if (kind === 'agentStart' && agentStartSeen) return outOfOrder('', 'second agent_start');
    if (turnId === undefined) return undefined;
    if (turnId < highestTurn) {
      return outOfOrder('turn_id', `turn_id ${turnId} after ${highestTurn}`);
    }
    // Turn 0 means no turn, so it is never closed.
    if (turnId > 0 && turnId <= closedTurn && kind !== 'compactionEnd') {
      return outOfOrder('turn_id', `${frameTypes[kind]} after turn ${turnId} ended`);
    }
    return undefined;
  }

  return {
    check(kind, turnId) {
      const violation = brokenRule(kind, turnId);
      if (kind === 'hepHeader') headerSeen = true;
      else if (kind === 'agentStart') agentStartSeen = true;
      if (turnId !== undefined && kind !== 'unknownFrame') {
        if (turnId > highestTurn) highestTurn = turnId;
        if (endsTurn(kind) && turnId > closedTurn) closedTurn = turnId;
      }
      return violation;
    },
  };
}

function endsTurn(kind: FrameKind): boolean {
  return kind === 'turnDone' || kind === 'turnError' || kind === 'cancelled';
}

function outOfOrder(field: string, detail: string): ProtocolViolation {
  const rule = ProtocolViolation_Rule.ORDER;
  return create(ProtocolViolationSchema, { rule, field, detail });
}
