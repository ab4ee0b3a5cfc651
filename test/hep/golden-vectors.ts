import { toBinary, toJson } from '@bufbuild/protobuf';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { decodedEvent } from './decoded-event.js';
import { goldenLines } from './golden-lines.js';

/** One entry of `test/golden/frames.json`. */
export interface FrameVector {
  readonly name: string;
  readonly line_base64: string;
  /** Present and true if the line is the stream's first. */
  readonly at_stream_start?: boolean;
  /** `Event.line` is empty. */
  readonly canonical: boolean;
  /** Protobuf JSON of the event with sequence 7. */
  readonly event_json: unknown;
  readonly event_hex: string;
}

/** The vectors as this codec sees them. */
export function frameVectors(): FrameVector[] {
  return goldenLines().map(({ name, line, atStreamStart }) => {
    const bytes = Buffer.from(line);
    const event = decodedEvent(bytes, atStreamStart);
    return {
      name,
      line_base64: bytes.toString('base64'),
      ...(atStreamStart ? { at_stream_start: true } : {}),
      canonical: event.line.length === 0,
      event_json: toJson(EventSchema, event),
      event_hex: Buffer.from(toBinary(EventSchema, event)).toString('hex'),
    };
  });
}

/** Text of the file: one vector a line; unlike JSON.stringify it keeps the sign of -0. */
export function printVectors(vectors: readonly unknown[]): string {
  const mark = '-0 stands here';
  const keepZero = (_: string, value: unknown): unknown => (Object.is(value, -0) ? mark : value);
  const lines = vectors.map((vector) =>
    JSON.stringify(vector, keepZero).replaceAll(`"${mark}"`, '-0.0'),
  );
  return `[\n${lines.join(',\n')}\n]\n`;
}
