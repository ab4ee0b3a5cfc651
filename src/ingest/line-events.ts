import { create } from '@bufbuild/protobuf';
import {
  MalformedLine_Reason,
  MalformedLineSchema,
  OversizeLineSchema,
  type ProtocolViolation,
} from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../hep/decode-line.js';
import type { FrameKind } from '../hep/frame-kind.js';
import { isBlank } from '../hep/is-blank.js';
import type { EventBody, EventWriter } from './event-writer.js';
import type { Refusal } from './outcome.js';
import { createLineSplitter } from './split-lines.js';
import type { StreamFacts } from './stream-facts.js';
import type { StreamState } from './stream-state.js';

export interface LineEventsOptions {
  readonly writer: EventWriter;
  readonly state: StreamState;
  /** Position in the source of the first byte that will be pushed. */
  readonly startOffset: number;
  readonly maxLineBytes: number;
  /** Note the first violation or line that is no frame; the caller then ends the run. */
  readonly strict: boolean;
}

/** A run's stdout on its way from bytes to events. */
export interface LineEvents {
  readonly facts: StreamFacts;
  /** Frames seen by this object. */
  readonly frames: number;
  /** A header was accepted, or refused. */
  readonly hasHeader: boolean;
  /** Set when the stream is not one that this bridge reads; from then on its lines are dropped. */
  readonly refusal: Refusal | undefined;
  /** What broke a strict run; empty if nothing did. */
  readonly strictBreach: string;
  /** The last line had no 0x0A. */
  readonly unterminatedTail: boolean;
  /** The last line had no 0x0A and was not whole. */
  readonly truncated: boolean;
  /** Bytes of the source seen, from its beginning. */
  readonly offset: number;
  /** Position behind the last line that has its event. */
  readonly eventOffset: number;
  /** True while the bytes of a line over the limit pass by. */
  readonly insideOversizeLine: boolean;
  /** Blank lines behind the last event's line; they go with the next event. */
  takeBlank(): Uint8Array;
  push(chunk: Uint8Array, nowUs: number): void;
  /** The source is at its end. */
  end(nowUs: number): void;
}

const MAX_BLANK_BYTES = 65_536;
const LF = Uint8Array.of(0x0a);
const NO_BYTES = new Uint8Array(0);

export function createLineEvents(options: LineEventsOptions): LineEvents {
  const { writer, strict, startOffset } = options;
  const { facts, gate, rules } = options.state;
  let eventOffset = startOffset;
  let frames = 0;
  let blank: Uint8Array[] = [];
  let blankBytes = 0;
  let strictBreach = '';
  let unterminatedTail = false;
  let truncated = false;
  let orderViolation: ProtocolViolation | undefined;

  const splitter = createLineSplitter({ line, oversize }, options.maxLineBytes, startOffset);

  function admits(kind: FrameKind, turnId: number): boolean {
    orderViolation = rules.check(kind, turnId);
    return orderViolation === undefined;
  }

  function line(
    source: Uint8Array,
    start: number,
    end: number,
    endOffset: number,
    terminated: boolean,
  ): void {
    orderViolation = undefined;
    let isOrderChecked = false;
    if (gate.state === 'open' && blankBytes === 0 && terminated) {
      if (writer.writeHot(source, start, end, endOffset, admits)) {
        eventOffset = endOffset;
        frames += 1;
        return;
      }
      isOrderChecked = orderViolation !== undefined;
    }
    if (gate.state === 'refused') return;
    if (!terminated) unterminatedTail = true;
    if (isBlank(source, start, end) && holdBlank(source.subarray(start, end), terminated)) return;
    const bytes = source.slice(start, end);
    const atStreamStart = endOffset - (end - start) - (terminated ? 1 : 0) === 0;
    const decoded = decodeLine(bytes, atStreamStart);
    if (decoded.kind === 'malformed') {
      malformed(decoded.reason, decoded.detail, bytes, endOffset, terminated);
      return;
    }
    const { payload, canonical, lossyText, violations, turnId } = decoded;
    frames += 1;
    if (gate.state === 'before-header') {
      if (!gate.decide(payload, bytes)) return;
      emitHeld();
    }
    if (!isOrderChecked) orderViolation = rules.check(payload.case, turnId);
    const all = orderViolation === undefined ? violations : [...violations, orderViolation];
    const [first] = all;
    if (first !== undefined) breach(`${payload.case}: ${first.field} ${first.detail}`);
    emit({ payload, lossyText, violations: all, line: canonical ? NO_BYTES : bytes }, endOffset);
  }

  function malformed(
    reason: MalformedLine_Reason,
    detail: string,
    bytes: Uint8Array,
    endOffset: number,
    terminated: boolean,
  ): void {
    const isCut = !terminated && reason !== MalformedLine_Reason.NOT_A_FRAME;
    if (isCut) truncated = true;
    const value = create(MalformedLineSchema, {
      reason: isCut ? MalformedLine_Reason.TRUNCATED : reason,
      detail: isCut ? `ends after ${bytes.length} bytes` : detail,
    });
    noFrame({ payload: { case: 'malformedLine', value }, line: bytes }, endOffset, bytes);
  }

  function oversize(
    facts: { lineBytes: number; sha256: Uint8Array; prefix: Uint8Array },
    endOffset: number,
    terminated: boolean,
  ): void {
    if (!terminated) unterminatedTail = true;
    if (gate.state === 'refused') return;
    const value = create(OversizeLineSchema, { ...facts, lineBytes: BigInt(facts.lineBytes) });
    noFrame({ payload: { case: 'oversizeLine', value } }, endOffset, facts.prefix);
  }

  /** A line that is no frame: an event of its own, but not before the header was accepted. */
  function noFrame(body: EventBody, endOffset: number, bytes: Uint8Array): void {
    if (gate.state === 'before-header') {
      gate.hold({ body: { ...body, blankBefore: takeBlank() }, endOffset, bytes });
      return;
    }
    breach('a line is no frame');
    emit(body, endOffset);
  }

  function emitHeld(): void {
    for (const { body, endOffset } of gate.release()) {
      writer.write(body, endOffset);
      eventOffset = endOffset;
    }
  }

  function emit(body: EventBody, endOffset: number): void {
    const sequence = writer.write(
      blankBytes === 0 ? body : { ...body, blankBefore: takeBlank() },
      endOffset,
    );
    eventOffset = endOffset;
    facts.observe(body.payload, sequence);
  }

  function breach(what: string): void {
    if (strict && strictBreach === '') strictBreach = what;
  }

  /** False if the blanks that wait are at their limit: then this line becomes an event. */
  function holdBlank(bytes: Uint8Array, terminated: boolean): boolean {
    const length = bytes.length + (terminated ? 1 : 0);
    if (blankBytes + length > MAX_BLANK_BYTES) return false;
    blank.push(bytes.slice());
    if (terminated) blank.push(LF);
    blankBytes += length;
    return true;
  }

  function takeBlank(): Uint8Array {
    if (blankBytes === 0) return NO_BYTES;
    const bytes = Buffer.concat(blank);
    blank = [];
    blankBytes = 0;
    return bytes;
  }

  return {
    facts,
    get frames() {
      return frames;
    },
    get hasHeader() {
      return gate.state !== 'before-header';
    },
    get refusal() {
      return gate.refusal;
    },
    get strictBreach() {
      return strictBreach;
    },
    get unterminatedTail() {
      return unterminatedTail;
    },
    get truncated() {
      return truncated;
    },
    get offset() {
      return splitter.offset;
    },
    get eventOffset() {
      return eventOffset;
    },
    get insideOversizeLine() {
      return splitter.insideOversizeLine;
    },
    takeBlank,
    push(chunk, nowUs) {
      writer.begin(nowUs);
      splitter.push(chunk);
      writer.flush();
    },
    end(nowUs) {
      writer.begin(nowUs);
      splitter.end();
      if (gate.state === 'before-header') emitHeld();
      writer.flush();
    },
  };
}
