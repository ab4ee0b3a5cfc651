import { create, toBinary } from '@bufbuild/protobuf';
import { type Event, EventSchema } from '#gen/hep/event/v1/event_pb.js';
import type { FrameKind } from '../hep/frame-kind.js';
import { hot, writeHotFrame } from '../hep/hot-frame.js';
import { asBatchField, type BatchQueue, type EncodedEvents } from './batch-queue.js';
import { varintSize, writeVarint } from './wire.js';

/** An event before it has its place: no sequence, no time. */
export type EventBody = Pick<Event, 'payload'> &
  Partial<Pick<Event, 'line' | 'lossyText' | 'violations' | 'blankBefore'>>;

/**
 * Gives events their sequence and time and hands them, encoded, to the batch queue. Encodes into
 * one buffer that all runs share, since a read is encoded without a pause; `flush` ends it.
 */
export interface EventWriter {
  /** Sequence of the last event written. */
  readonly lastSequence: number;
  /** Begins a read: all events until `flush` were observed at `nowUs`. */
  begin(nowUs: number): void;
  /**
   * The fast path: writes the line's event if it is a canonical hot frame that `admits` lets pass.
   * Otherwise nothing is written and it answers false.
   */
  writeHot(
    source: Uint8Array,
    start: number,
    end: number,
    endOffset: number,
    admits: (kind: FrameKind, turnId: number) => boolean,
  ): boolean;
  /** Any other event; returns its sequence. `endOffset`: see `BatchQueue.append`. */
  write(body: EventBody, endOffset: number): number;
  /** An event that is stored apart from the others, with the next sequence, at the time `nowUs`. */
  encodeApart(body: EventBody): EncodedEvents;
  /** Ends a read: what was written is in the queue. */
  flush(): void;
}

const EVENTS_TAG = (15 << 3) | 2;
const SEQUENCE_TAG = 1 << 3;
const OFFSET_TAG = 2 << 3;
/** Tag, length, sequence, time and the payload's own tag and length: all that is not the line's. */
const OVERHEAD_BYTES = 64;
/** Of a hot frame's line, the JSON that Protobuf does not repeat; for the length's first guess. */
const TYPICAL_SHRINK_BYTES = 36;

let scratch = new Uint8Array(1 << 20);

export function createEventWriter(queue: BatchQueue, lastSequence = 0): EventWriter {
  let sequence = lastSequence;
  let nowUs = 0;
  let baseUs = 0;
  let room = 0;
  let position = 0;
  let firstSequence = 0;
  let lastStepSequence = 0;
  let stdoutOffset = 0;

  function flush(): void {
    if (position === 0) return;
    const bytes = Buffer.from(scratch.subarray(0, position));
    queue.append(
      { bytes, firstSequence, lastSequence: sequence, lastStepSequence },
      baseUs,
      nowUs,
      stdoutOffset,
    );
    position = 0;
    firstSequence = 0;
    lastStepSequence = 0;
    room = queue.room;
  }

  /** Goes on in a new batch. */
  function nextBatch(): void {
    flush();
    queue.seal();
    baseUs = nowUs;
    room = queue.room;
  }

  function grow(bytes: number): void {
    if (position + bytes <= scratch.length) return;
    const grown = new Uint8Array(Math.max(position + bytes, scratch.length * 2));
    grown.set(scratch.subarray(0, position));
    scratch = grown;
  }

  function encode(body: EventBody, offsetUs: number): Uint8Array {
    const observeOffsetUs = BigInt(Math.max(0, offsetUs));
    const event = create(EventSchema, { ...body, sequence: BigInt(sequence + 1), observeOffsetUs });
    return asBatchField(toBinary(EventSchema, event));
  }

  function wrote(isStep: boolean, endOffset: number): void {
    if (firstSequence === 0) firstSequence = sequence;
    if (isStep) lastStepSequence = sequence;
    stdoutOffset = endOffset;
  }

  return {
    get lastSequence() {
      return sequence;
    },
    begin(now) {
      nowUs = now;
      baseUs = queue.baseTimeUs(now);
      room = queue.room;
    },
    flush,
    writeHot(source, start, end, endOffset, admits) {
      const bound = end - start + OVERHEAD_BYTES;
      if (position + bound > room) nextBatch();
      grow(bound);
      const lengthAt = position + 1;
      const guessed = end - start - TYPICAL_SHRINK_BYTES < 128 ? 1 : end - start < 16_384 ? 2 : 3;
      const eventAt = lengthAt + guessed;
      scratch[position] = EVENTS_TAG;
      scratch[eventAt] = SEQUENCE_TAG;
      let at = writeVarint(scratch, eventAt + 1, sequence + 1);
      if (nowUs > baseUs) {
        scratch[at] = OFFSET_TAG;
        at = writeVarint(scratch, at + 1, nowUs - baseUs);
      }
      let written = writeHotFrame(source, start, end, scratch, at);
      if (written < 0 || !admits(hot.kind, hot.turnId)) return false;
      const length = written - eventAt;
      const size = varintSize(length);
      if (size !== guessed) {
        scratch.copyWithin(lengthAt + size, eventAt, written);
        written += size - guessed;
      }
      writeVarint(scratch, lengthAt, length);
      position = written;
      sequence += 1;
      wrote(!hot.isDelta, endOffset);
      return true;
    },
    encodeApart(body) {
      const bytes = encode(body, 0);
      sequence += 1;
      return { bytes, firstSequence: sequence, lastSequence: sequence, lastStepSequence: 0 };
    },
    write(body, endOffset) {
      let field = encode(body, nowUs - baseUs);
      if (position + field.length > room) {
        nextBatch();
        field = encode(body, nowUs - baseUs);
      }
      grow(field.length);
      scratch.set(field, position);
      position += field.length;
      sequence += 1;
      const { case: kind } = body.payload;
      wrote(kind !== 'messageDelta' && kind !== 'toolDelta', endOffset);
      if (position > room) nextBatch();
      return sequence;
    },
  };
}
