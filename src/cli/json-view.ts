import { toJson } from '@bufbuild/protobuf';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import type { RunEvent } from '../client/bridge-client.js';
import type { Output } from './output.js';
import type { EventView } from './show-events.js';

/** One JSON object a line: `run_id`, `sequence`, `time`, then the event as Protobuf JSON. */
export function jsonView(stdout: Output): EventView {
  return { show: (event) => stdout.line(eventJson(event)) };
}

export function eventJson({ runId, sequence, timeUs, event }: RunEvent): string {
  const json = Object(toJson(EventSchema, event, { useProtoFieldName: true }));
  const { sequence: _sequence, observe_offset_us: _offset, ...rest } = json;
  return JSON.stringify({ run_id: runId, sequence, time: timeText(timeUs), ...rest });
}

/** RFC 3339 in UTC with microseconds. */
function timeText(timeUs: number): string {
  const seconds = new Date(Math.floor(timeUs / 1_000_000) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(timeUs % 1_000_000).padStart(6, '0')}Z`;
}
