import type { Event } from '#gen/hep/event/v1/event_pb.js';
import type { ToolLiveness, ToolResult, TurnDone, Usage } from '#gen/hep/frame/v1/frame_pb.js';
import { dartDouble } from './dart-double.js';

/** The form that `canonicalText` writes: value of `EventBatch.canonical_form`. Frozen. */
export const canonicalForm = 1;

const encoder = new TextEncoder();
/** Half of a pair or lone; the cheap question before the dear one. */
const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/gu;

/**
 * Canonical text, form 1, of a frame, without 0x0A: the line that the harness would print for it.
 * Undefined for what has none: payloads that are no frame of the catalogue, and prices that JSON
 * cannot write. Lone surrogates count as U+FFFD, which they become in Protobuf.
 */
export function canonicalText(payload: Event['payload']): Uint8Array | undefined {
  const text = textOf(payload);
  return text === undefined ? undefined : encoder.encode(text);
}

function textOf(payload: Event['payload']): string | undefined {
  switch (payload.case) {
    case 'hepHeader': {
      const { hep, fah, session } = payload.value;
      return `{"type":"hep_header","hep":${quote(hep)},"fah":${quote(fah)},"session":${quote(session)}}`;
    }
    case 'agentStart':
      return `{"type":"agent_start","turn_id":${payload.value.turnId}}`;
    case 'messageStart':
      return `{"type":"message_start","turn_id":${payload.value.turnId},"role":${quote(payload.value.role)}}`;
    case 'messageDelta':
      return `{"type":"message_delta","turn_id":${payload.value.turnId},"delta":${quote(payload.value.delta)}}`;
    case 'toolStart': {
      const { turnId, id, name, argsSummary } = payload.value;
      return `{"type":"tool_start","turn_id":${turnId},"id":${quote(id)},"name":${quote(name)},"args_summary":${quote(argsSummary)}}`;
    }
    case 'toolDelta': {
      const { turnId, id, update } = payload.value;
      return `{"type":"tool_delta","turn_id":${turnId},"id":${quote(id)},"update":${quote(update)}}`;
    }
    case 'toolLiveness':
      return toolLivenessText(payload.value);
    case 'turnDone':
      return turnDoneText(payload.value);
    case 'turnError': {
      const { turnId, error, fatal } = payload.value;
      return `{"type":"turn_error","turn_id":${turnId},"error":${quote(error)},"fatal":${fatal}}`;
    }
    case 'cancelled':
      return `{"type":"cancelled","turn_id":${payload.value.turnId}}`;
    case 'compactionStart':
      return `{"type":"compaction_start","turn_id":${payload.value.turnId}}`;
    case 'compactionEnd': {
      const { turnId, tokensFreed } = payload.value;
      return `{"type":"compaction_end","turn_id":${turnId}${optional('tokens_freed', tokensFreed)}}`;
    }
    default:
      return undefined;
  }
}

function toolLivenessText(frame: ToolLiveness): string {
  const detail = frame.detail === undefined ? undefined : quote(frame.detail);
  return (
    `{"type":"tool_liveness","turn_id":${frame.turnId},"id":${quote(frame.id)}` +
    `,"name":${quote(frame.name)},"action":${quote(frame.action)}` +
    `${optional('elapsed_ms', frame.elapsedMs)}${optional('output_bytes', frame.outputBytes)}` +
    `${optional('detail', detail)}}`
  );
}

function turnDoneText(frame: TurnDone): string | undefined {
  const usage = frame.usage === undefined ? '' : usageText(frame.usage);
  if (usage === undefined) return undefined;
  return (
    `{"type":"turn_done","turn_id":${frame.turnId},"message":${quote(frame.message)}` +
    `,"tool_results":[${frame.toolResults.map(toolResultText).join(',')}]` +
    `${usage},"stop_reason":${quote(frame.stopReason)}}`
  );
}

function toolResultText(result: ToolResult): string {
  return `{"id":${quote(result.id)},"name":${quote(result.name)},"ok":${result.ok},"text":${quote(result.text)}}`;
}

/** With its key and the comma before it. */
function usageText(usage: Usage): string | undefined {
  if (usage.cost !== undefined && !Number.isFinite(usage.cost)) return undefined;
  const cost = usage.cost === undefined ? undefined : dartDouble(usage.cost);
  const members = [
    optional('input', usage.input),
    optional('output', usage.output),
    optional('cost', cost),
  ];
  return `,"usage":{${members.join('').slice(1)}}`;
}

/** `value` is JSON; nothing if it is unset. */
function optional(key: string, value: bigint | string | undefined): string {
  return value === undefined ? '' : `,"${key}":${value}`;
}

/** As Dart's jsonEncode and JSON.stringify write well-formed text. */
function quote(text: string): string {
  return JSON.stringify(surrogate.test(text) ? text.replace(loneSurrogate, '\ufffd') : text);
}
