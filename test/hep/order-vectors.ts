import { toJson } from '@bufbuild/protobuf';
import { ProtocolViolationSchema } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import { createOrderRules } from '../../src/hep/order-rules.js';

/** One entry of `test/golden/order.json`. */
export interface OrderVector {
  readonly name: string;
  /** Lines of one stream from its beginning. */
  readonly lines: readonly string[];
  /** Per line the order violation as Protobuf JSON, null if there is none. */
  readonly violations: readonly unknown[];
}

/** `type turn` for a frame, `type` alone for one without turn_id; other text is a line as it is. */
type Step = string;

const streams: Readonly<Record<string, readonly Step[]>> = {
  'several rounds': [
    'hep_header',
    'agent_start 1',
    'message_start 1',
    'message_delta 1',
    'tool_start 1',
    'tool_delta 1',
    'turn_done 1',
    'message_start 2',
    'message_delta 2',
    'turn_done 2',
  ],
  'several message_start in a turn': [
    'hep_header',
    'agent_start 1',
    'message_start 1',
    'message_start 1',
    'message_delta 1',
    'turn_done 1',
  ],
  'post-turn compaction without agent_start and terminal': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'compaction_start 2',
    'compaction_end 2',
  ],
  'compaction before agent_start': [
    'hep_header',
    'compaction_start 1',
    'compaction_end 1',
    'agent_start 1',
    'message_start 1',
    'turn_done 1',
  ],
  'compaction without end, and again with the same turn': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'compaction_start 2',
    'compaction_start 2',
    'compaction_end 2',
    'message_start 2',
    'turn_done 2',
  ],
  'compaction_end after its turn ended': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'compaction_end 1',
  ],
  'compaction_start after its turn ended': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'compaction_start 1',
  ],
  'compaction_end of an earlier turn': [
    'hep_header',
    'turn_done 1',
    'turn_done 2',
    'compaction_end 1',
  ],
  'round after cancelled': [
    'hep_header',
    'agent_start 1',
    'cancelled 1',
    'message_start 2',
    'turn_done 2',
  ],
  'round after a fatal turn_error': [
    'hep_header',
    'agent_start 1',
    'turn_error 1',
    'compaction_start 2',
    'compaction_end 2',
    'message_start 2',
    'turn_done 2',
  ],
  'gaps between turns': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'turn_done 5',
    'message_start 100',
  ],
  'first turn is not 1': ['hep_header', 'message_start 7', 'turn_done 7'],
  'no agent_start': ['hep_header', 'message_start 1', 'turn_done 1'],
  'tool frames without tool_start': ['hep_header', 'tool_delta 1', 'tool_liveness 1'],
  'second header': ['hep_header', 'agent_start 1', 'hep_header', 'message_delta 1', 'turn_done 1'],
  'second header resets nothing': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'hep_header',
    'agent_start 1',
    'message_start 1',
    'hep_header',
  ],
  'second agent_start': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'agent_start 2',
    'message_start 2',
  ],
  'second agent_start of an earlier turn is one violation': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'turn_done 2',
    'agent_start 1',
  ],
  'second agent_start raises the highest turn': [
    'hep_header',
    'agent_start 1',
    'agent_start 5',
    'message_start 4',
  ],
  'turn_id falls': [
    'hep_header',
    'agent_start 1',
    'message_start 3',
    'message_delta 2',
    'message_delta 3',
  ],
  'terminal of an earlier turn closes nothing': [
    'hep_header',
    'message_start 3',
    'turn_done 2',
    'message_delta 3',
  ],
  'delta after turn_done': [
    'hep_header',
    'agent_start 1',
    'turn_done 1',
    'message_delta 1',
    'message_delta 2',
  ],
  'delta and terminal after cancelled': [
    'hep_header',
    'agent_start 1',
    'cancelled 1',
    'message_delta 1',
    'turn_done 1',
  ],
  'two terminals of a turn': ['hep_header', 'agent_start 1', 'turn_error 1', 'turn_error 1'],
  'every type after its turn ended': [
    'hep_header',
    'turn_done 4',
    'message_start 4',
    'message_delta 4',
    'tool_start 4',
    'tool_delta 4',
    'tool_liveness 4',
    'turn_done 4',
    'turn_error 4',
    'cancelled 4',
    'compaction_start 4',
    'compaction_end 4',
  ],
  'unknown frames': [
    'hep_header',
    'turn_done 3',
    '{"type":"x","turn_id":1}',
    '{"type":"x","turn_id":3}',
    '{"type":"x","turn_id":9}',
    'message_start 4',
  ],
  'turn_id absent or not fitting': [
    'hep_header',
    'turn_done 3',
    '{"type":"message_delta","delta":""}',
    '{"type":"message_delta","turn_id":"1","delta":""}',
    '{"type":"cancelled","turn_id":1.5}',
    'message_start 4',
  ],
  'turn_id 0 counts as none, but falls': [
    'hep_header',
    'message_start 0',
    'cancelled 0',
    'message_delta 0',
    'turn_done 0',
    'message_start 1',
    'message_delta 0',
  ],
  'negative turn_id': ['hep_header', 'cancelled -1', 'message_delta -1', 'message_start 1'],
  'turn_id beyond 2^53': [
    'hep_header',
    'message_start 9007199254740992',
    'turn_done 9007199254740993',
    'message_delta 9007199254740992',
    'message_delta 9007199254740993',
    'message_start 9007199254740994',
    'message_delta 9223372036854775807',
  ],
  'malformed lines between': [
    'hep_header',
    'agent_start 1',
    'noise',
    '[1]',
    'turn_done 1',
    'noise',
    'message_delta 1',
  ],
  'no header': ['agent_start 1', 'hep_header', 'hep_header'],
};

/** The vectors as this codec sees them. */
export function orderVectors(): OrderVector[] {
  return Object.entries(streams).map(([name, steps]) => {
    const lines = steps.map(lineOf);
    const rules = createOrderRules();
    const violations = lines.map((line) => {
      const decoded = decodeLine(Buffer.from(line));
      if (decoded.kind === 'malformed') return null;
      const violation = rules.check(decoded.payload.case, decoded.turnId);
      return violation === undefined ? null : toJson(ProtocolViolationSchema, violation);
    });
    return { name, lines, violations };
  });
}

function lineOf(step: Step): string {
  const [, type, turnId] = /^([a-z]+_[a-z]+|cancelled)(?: (-?\d+))?$/.exec(step) ?? [];
  if (type === undefined) return step;
  return turnId === undefined
    ? `{"type":"${type}","hep":"v1","fah":"1.0.0","session":"s1"}`
    : `{"type":"${type}","turn_id":${turnId}}`;
}
