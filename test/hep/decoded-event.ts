import { create } from '@bufbuild/protobuf';
import { type Event, EventSchema, MalformedLineSchema } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../../src/hep/decode-line.js';

/** The event that a line becomes, with sequence 7 and no time. */
export function decodedEvent(line: Uint8Array, atStreamStart = false): Event {
  const decoded = decodeLine(line, atStreamStart);
  if (decoded.kind === 'malformed') {
    const { reason, detail } = decoded;
    const value = create(MalformedLineSchema, { reason, detail });
    return create(EventSchema, { sequence: 7n, line, payload: { case: 'malformedLine', value } });
  }
  const { payload, canonical, lossyText, violations } = decoded;
  const event = create(EventSchema, { sequence: 7n, lossyText, violations, payload });
  if (!canonical) event.line = line;
  return event;
}
