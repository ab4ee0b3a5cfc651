import type { Event } from '#gen/hep/event/v1/event_pb.js';

/** HEP's `type` of each frame that the catalogue has, by its case in `Event.payload`. */
export const frameTypes = {
  hepHeader: 'hep_header',
  agentStart: 'agent_start',
  messageStart: 'message_start',
  messageDelta: 'message_delta',
  toolStart: 'tool_start',
  toolDelta: 'tool_delta',
  toolLiveness: 'tool_liveness',
  turnDone: 'turn_done',
  turnError: 'turn_error',
  cancelled: 'cancelled',
  compactionStart: 'compaction_start',
  compactionEnd: 'compaction_end',
} as const;

/** Case of a frame in `Event.payload`. */
export type FrameKind = keyof typeof frameTypes | 'unknownFrame';

/** `Event.payload` of a frame. */
export type FramePayload = Extract<Event['payload'], { case: FrameKind }>;
