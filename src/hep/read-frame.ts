import { create } from '@bufbuild/protobuf';
import {
  AgentStartSchema,
  CancelledSchema,
  CompactionEndSchema,
  CompactionStartSchema,
  HepHeaderSchema,
  MessageDeltaSchema,
  MessageStartSchema,
  ToolDeltaSchema,
  type ToolLiveness,
  ToolLivenessSchema,
  ToolStartSchema,
  TurnErrorSchema,
  UnknownFrameSchema,
} from '#gen/hep/frame/v1/frame_pb.js';
import { type ObjectFields, readBoolean, readInt64, readString } from './field-reader.js';
import type { FramePayload } from './frame-kind.js';
import { readTurnDone } from './read-turn-done.js';

type FrameReader = (fields: ObjectFields) => FramePayload;

/** Reads the frame of HEP type `type`; keys are read, and so violations come, in catalogue order. */
export function readFrame(type: string, fields: ObjectFields): FramePayload {
  const reader = readers.get(type);
  if (reader !== undefined) return reader(fields);
  return { case: 'unknownFrame', value: create(UnknownFrameSchema, { type }) };
}

const readers: ReadonlyMap<string, FrameReader> = new Map<string, FrameReader>([
  [
    'hep_header',
    (fields) => {
      const value = create(HepHeaderSchema);
      value.hep = text(fields, 'hep');
      value.fah = text(fields, 'fah');
      value.session = text(fields, 'session');
      return { case: 'hepHeader', value };
    },
  ],
  [
    'agent_start',
    (fields) => {
      const value = create(AgentStartSchema);
      value.turnId = turnId(fields);
      return { case: 'agentStart', value };
    },
  ],
  [
    'message_start',
    (fields) => {
      const value = create(MessageStartSchema);
      value.turnId = turnId(fields);
      value.role = text(fields, 'role');
      return { case: 'messageStart', value };
    },
  ],
  [
    'message_delta',
    (fields) => {
      const value = create(MessageDeltaSchema);
      value.turnId = turnId(fields);
      value.delta = text(fields, 'delta');
      return { case: 'messageDelta', value };
    },
  ],
  [
    'tool_start',
    (fields) => {
      const value = create(ToolStartSchema);
      value.turnId = turnId(fields);
      value.id = text(fields, 'id');
      value.name = text(fields, 'name');
      value.argsSummary = text(fields, 'args_summary');
      return { case: 'toolStart', value };
    },
  ],
  [
    'tool_delta',
    (fields) => {
      const value = create(ToolDeltaSchema);
      value.turnId = turnId(fields);
      value.id = text(fields, 'id');
      value.update = text(fields, 'update');
      return { case: 'toolDelta', value };
    },
  ],
  ['tool_liveness', (fields) => ({ case: 'toolLiveness', value: readToolLiveness(fields) })],
  ['turn_done', (fields) => ({ case: 'turnDone', value: readTurnDone(fields) })],
  [
    'turn_error',
    (fields) => {
      const value = create(TurnErrorSchema);
      value.turnId = turnId(fields);
      value.error = text(fields, 'error');
      value.fatal = readBoolean(fields, 'fatal') ?? false;
      return { case: 'turnError', value };
    },
  ],
  [
    'cancelled',
    (fields) => {
      const value = create(CancelledSchema);
      value.turnId = turnId(fields);
      return { case: 'cancelled', value };
    },
  ],
  [
    'compaction_start',
    (fields) => {
      const value = create(CompactionStartSchema);
      value.turnId = turnId(fields);
      return { case: 'compactionStart', value };
    },
  ],
  [
    'compaction_end',
    (fields) => {
      const value = create(CompactionEndSchema);
      value.turnId = turnId(fields);
      const tokensFreed = readInt64(fields, 'tokens_freed');
      if (tokensFreed !== undefined) value.tokensFreed = tokensFreed;
      return { case: 'compactionEnd', value };
    },
  ],
]);

function readToolLiveness(fields: ObjectFields): ToolLiveness {
  const value = create(ToolLivenessSchema);
  value.turnId = turnId(fields);
  value.id = text(fields, 'id');
  value.name = text(fields, 'name');
  value.action = text(fields, 'action');
  const elapsedMs = readInt64(fields, 'elapsed_ms');
  if (elapsedMs !== undefined) value.elapsedMs = elapsedMs;
  const outputBytes = readInt64(fields, 'output_bytes', false);
  if (outputBytes !== undefined) value.outputBytes = outputBytes;
  const detail = readString(fields, 'detail', false);
  if (detail !== undefined) value.detail = detail;
  return value;
}

function turnId(fields: ObjectFields): bigint {
  return readInt64(fields, 'turn_id') ?? 0n;
}

function text(fields: ObjectFields, key: Parameters<typeof readString>[1]): string {
  return readString(fields, key) ?? '';
}
