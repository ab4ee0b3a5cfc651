import { create } from '@bufbuild/protobuf';
import {
  type ToolResult,
  ToolResultSchema,
  type TurnDone,
  TurnDoneSchema,
  type Usage,
  UsageSchema,
} from '#gen/hep/frame/v1/frame_pb.js';
import {
  type ObjectFields,
  readBoolean,
  readDouble,
  readInt64,
  readString,
  reportWrongType,
  valueStart,
} from './field-reader.js';
import { jsonKind } from './json-kind.js';
import { noMembers, scanMembers } from './scan-members.js';
import { skipValue } from './skip-value.js';
import { skipWhitespace } from './skip-whitespace.js';

/** The one frame with objects inside. `fields` are those of the frame. */
export function readTurnDone(fields: ObjectFields): TurnDone {
  const turnDone = create(TurnDoneSchema);
  turnDone.turnId = readInt64(fields, 'turn_id') ?? 0n;
  turnDone.message = readString(fields, 'message') ?? '';
  turnDone.toolResults = readToolResults(fields);
  const usage = readUsage(fields);
  if (usage !== undefined) turnDone.usage = usage;
  turnDone.stopReason = readString(fields, 'stop_reason') ?? '';
  return turnDone;
}

/** An entry that is no object leaves an empty result in its place. */
function readToolResults(fields: ObjectFields): ToolResult[] {
  const { bytes, report } = fields;
  const results: ToolResult[] = [];
  const array = valueStart(fields, 'tool_results', 'array', true);
  if (array === 0) return results;
  let at = skipWhitespace(bytes, array + 1, bytes.length);
  while (bytes[at] !== 0x5d) {
    const field = `tool_results[${results.length}]`;
    const kind = jsonKind(bytes[at]);
    if (kind === 'object') {
      results.push(readToolResult(objectAt(fields, at, `${field}.`)));
    } else {
      reportWrongType(report, field, 'object', kind);
      results.push(create(ToolResultSchema));
    }
    at = skipWhitespace(bytes, skipValue(bytes, at, bytes.length), bytes.length);
    if (bytes[at] === 0x2c) at = skipWhitespace(bytes, at + 1, bytes.length);
  }
  return results;
}

function readToolResult(fields: ObjectFields): ToolResult {
  const result = create(ToolResultSchema);
  result.id = readString(fields, 'id') ?? '';
  result.name = readString(fields, 'name') ?? '';
  result.ok = readBoolean(fields, 'ok') ?? false;
  result.text = readString(fields, 'text') ?? '';
  return result;
}

function readUsage(fields: ObjectFields): Usage | undefined {
  const at = valueStart(fields, 'usage', 'object', true);
  if (at === 0) return undefined;
  const inner = objectAt(fields, at, 'usage.');
  const usage = create(UsageSchema);
  const input = readInt64(inner, 'input');
  if (input !== undefined) usage.input = input;
  const output = readInt64(inner, 'output');
  if (output !== undefined) usage.output = output;
  const cost = readDouble(inner, 'cost');
  if (cost !== undefined) usage.cost = cost;
  return usage;
}

function objectAt(fields: ObjectFields, at: number, prefix: string): ObjectFields {
  const members = noMembers();
  scanMembers(fields.bytes, at, fields.bytes.length, members);
  return { bytes: fields.bytes, members, prefix, report: fields.report };
}
