import { BridgeError } from '../errors.js';

/** A place in serialized Protobuf; the functions below move `at` on. */
export interface Walk {
  readonly bytes: Uint8Array;
  at: number;
  /** Exclusive. */
  readonly end: number;
}

/** What the head of a serialized `EventBatch` says, without its events. */
export interface BatchHead {
  readonly previousSequence: number;
  readonly previousStepSequence: number;
  /** A piece of a big event; `isLast` if it completes the event. */
  readonly part: PartHead | undefined;
  /** The last event is a `RunFinished`. */
  readonly endsRun: boolean;
}

/** What an `EventPart` says about itself. */
export interface PartHead {
  readonly sequence: number;
  /** From 0. */
  readonly index: number;
  readonly isLast: boolean;
}

const wireVarint = 0;
export const wireBytes = 2;
const wireFixed64 = 1;
const wireFixed32 = 5;
const fieldPart = 14;
export const fieldEvents = 15;
const fieldRunFinished = 65;

/** Starts a walk over all of `bytes`. */
export function walkOver(bytes: Uint8Array): Walk {
  return { bytes, at: 0, end: bytes.length };
}

/** Reads the head by tags; fails with `INTERNAL` if `body` is no `EventBatch`. */
export function readBatchHead(body: Uint8Array): BatchHead {
  const walk = walkOver(body);
  let previousSequence = 0;
  let previousStepSequence = 0;
  let part: PartHead | undefined;
  let lastEventStart = -1;
  let lastEventEnd = -1;
  while (walk.at < walk.end) {
    const tag = readVarint(walk);
    if (tag === ((fieldEvents << 3) | wireBytes)) {
      lastEventEnd = readEnd(walk);
      lastEventStart = walk.at;
      walk.at = lastEventEnd;
    } else if (tag === 32) previousSequence = readVarint(walk);
    else if (tag === 40) previousStepSequence = readVarint(walk);
    else if (tag === ((fieldPart << 3) | wireBytes)) part = readPartHead(body, walk);
    else skipField(walk, tag);
  }
  const endsRun =
    lastEventStart >= 0 && payloadField(body, lastEventStart, lastEventEnd) === fieldRunFinished;
  return { previousSequence, previousStepSequence, part, endsRun };
}

/** Field number of an event's payload (10 and up); 0 if it has none. */
function payloadField(bytes: Uint8Array, start: number, end: number): number {
  const walk: Walk = { bytes, at: start, end };
  let field = 0;
  while (walk.at < end) {
    const tag = readVarint(walk);
    if (tag >= 80) field = tag >>> 3;
    skipField(walk, tag);
  }
  return field;
}

function readPartHead(bytes: Uint8Array, outer: Walk): PartHead {
  const end = readEnd(outer);
  const walk: Walk = { bytes, at: outer.at, end };
  outer.at = end;
  let sequence = 0;
  let index = 0;
  let count = 0;
  while (walk.at < end) {
    const tag = readVarint(walk);
    if (tag === 8) sequence = readVarint(walk);
    else if (tag === 16) index = readVarint(walk);
    else if (tag === 24) count = readVarint(walk);
    else skipField(walk, tag);
  }
  return { sequence, index, isLast: index + 1 >= count };
}

/**
 * A varint as a signed 64-bit number; exact up to 2^53 (sequences and turns are far below, and
 * whoever needs more decodes the message).
 */
export function readVarint(walk: Walk): number {
  const { bytes, end } = walk;
  let at = walk.at;
  if (at >= end) throw malformed();
  let byte = bytes[at++] ?? 0;
  if (byte < 0x80) {
    walk.at = at;
    return byte;
  }
  let value = byte & 0x7f;
  let scale = 128;
  for (let count = 1; count < 10; count++) {
    if (at >= end) throw malformed();
    byte = bytes[at++] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      walk.at = at;
      return value >= 2 ** 63 ? value - 2 ** 64 : value;
    }
    scale *= 128;
  }
  throw malformed();
}

/** Reads a length; the end of what it spans, exclusive. `walk.at` is its start afterwards. */
export function readEnd(walk: Walk): number {
  const length = readVarint(walk);
  const end = walk.at + length;
  if (length < 0 || end > walk.end) throw malformed();
  return end;
}

/** Skips the value that belongs to `tag`. */
export function skipField(walk: Walk, tag: number): void {
  switch (tag & 7) {
    case wireVarint:
      readVarint(walk);
      break;
    case wireBytes:
      walk.at = readEnd(walk);
      break;
    case wireFixed64:
      walk.at += 8;
      break;
    case wireFixed32:
      walk.at += 4;
      break;
    default:
      throw malformed();
  }
  if (tag < 8 || walk.at > walk.end) throw malformed();
}

function malformed(): BridgeError {
  return new BridgeError('INTERNAL', 'a message of the log is not a serialized EventBatch');
}
