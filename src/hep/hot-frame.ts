import { copyText, fixedText, io, openBuffers, readDigits, skipText } from './hot-text.js';
import { closeLength, varintSize, writeVarint } from './hot-varint.js';

/** What `writeHotFrame` tells about the frame that it wrote last. */
export interface HotFrame {
  readonly kind: 'messageDelta' | 'toolDelta' | 'toolStart' | 'toolLiveness';
  readonly turnId: number;
  /** Of class DELTA: message_delta or tool_delta. */
  readonly isDelta: boolean;
}

const last: { -readonly [Field in keyof HotFrame]: HotFrame[Field] } = {
  kind: 'messageDelta',
  turnId: 0,
  isDelta: true,
};

/** The frame of the last call of `writeHotFrame` that succeeded; the next one overwrites it. */
export const hot: HotFrame = last;

const messageDelta = fixedText('{"type":"message_delta","turn_id":');
const toolDelta = fixedText('{"type":"tool_delta","turn_id":');
const toolStart = fixedText('{"type":"tool_start","turn_id":');
const toolLiveness = fixedText('{"type":"tool_liveness","turn_id":');
const deltaKey = fixedText(',"delta":"');
const idKey = fixedText(',"id":"');
const updateKey = fixedText('","update":"');
const nameKey = fixedText('","name":"');
const argsSummaryKey = fixedText('","args_summary":"');
const actionKey = fixedText('","action":"');
const elapsedMsKey = fixedText('","elapsed_ms":');
const outputBytesKey = fixedText(',"output_bytes":');
const detailKey = fixedText(',"detail":"');

/** Where the letter stands that tells the hot types apart. */
const letterAt = 14;
/** Bytes of the shortest hot line's beginning; less is none. */
const shortest = 40;

/**
 * Writes the line `src[start, end)` as the payload field of an `Event` (tag, length, message, as
 * protobuf-es would) to `dst` at `pos` and returns the position after it. Takes only the exact
 * canonical text of message_delta, tool_delta, tool_start and tool_liveness with integers of at
 * most 15 digits; -1 for anything else, which `decodeLine` then judges. `hot` tells what it was.
 *
 * `dst` needs `end - start + 32` bytes from `pos`; what stands there is undefined after -1. No
 * allocation, since this runs for nearly every line.
 */
export function writeHotFrame(
  src: Uint8Array,
  start: number,
  end: number,
  dst: Uint8Array,
  pos: number,
): number {
  if (end - start < shortest) return -1;
  openBuffers(src, start, dst);
  switch (src[start + letterAt]) {
    case 0x67: // messa[g]e_delta
      return writeMessageDelta(end, pos);
    case 0x64: // tool_[d]elta
      return writeToolDelta(end, pos);
    case 0x73: // tool_[s]tart
      return writeToolStart(end, pos);
    case 0x6c: // tool_[l]iveness
      return writeToolLiveness(end, pos);
    default:
      return -1;
  }
}

// The bytes kept free for a message's length are a guess from the line's length, right except
// near its borders and where there are many escapes; `closeLength` mends it.

function writeMessageDelta(end: number, pos: number): number {
  if (!skipText(messageDelta, end)) return -1;
  const body = pos + 1 + varintSize(end - io.at - 9);
  let to = writeTurnId(body);
  if (to < 0 || !skipText(deltaKey, end)) return -1;
  to = writeLastText(end, to, 0x12);
  if (to < 0) return -1;
  return finish(pos, 0x52, body, to, 'messageDelta', true);
}

function writeToolDelta(end: number, pos: number): number {
  if (!skipText(toolDelta, end)) return -1;
  const body = pos + 1 + varintSize(end - io.at - 16);
  let to = writeTurnId(body);
  if (to < 0 || !skipText(idKey, end)) return -1;
  to = writeText(end, to, 0x12);
  if (to < 0 || !skipText(updateKey, end)) return -1;
  to = writeLastText(end, to, 0x1a);
  if (to < 0) return -1;
  return finish(pos, 0x5a, body, to, 'toolDelta', true);
}

function writeToolStart(end: number, pos: number): number {
  if (!skipText(toolStart, end)) return -1;
  const body = pos + 1 + varintSize(end - io.at - 30);
  let to = writeTurnId(body);
  if (to < 0 || !skipText(idKey, end)) return -1;
  to = writeText(end, to, 0x12);
  if (to < 0 || !skipText(nameKey, end)) return -1;
  to = writeText(end, to, 0x1a);
  if (to < 0 || !skipText(argsSummaryKey, end)) return -1;
  to = writeLastText(end, to, 0x22);
  if (to < 0) return -1;
  return finish(pos, 0x62, body, to, 'toolStart', false);
}

function writeToolLiveness(end: number, pos: number): number {
  if (!skipText(toolLiveness, end)) return -1;
  const body = pos + 2;
  let to = writeTurnId(body);
  if (to < 0 || !skipText(idKey, end)) return -1;
  to = writeText(end, to, 0x12);
  if (to < 0 || !skipText(nameKey, end)) return -1;
  to = writeText(end, to, 0x1a);
  if (to < 0 || !skipText(actionKey, end)) return -1;
  to = writeText(end, to, 0x22);
  if (to < 0 || !skipText(elapsedMsKey, end)) return -1;
  to = writeInteger(to, 0x28);
  if (to < 0) return -1;
  if (skipText(outputBytesKey, end)) {
    to = writeInteger(to, 0x30);
    if (to < 0) return -1;
  }
  if (!skipText(detailKey, end)) {
    if (io.at !== end - 1 || io.src[io.at] !== 0x7d) return -1;
    return finish(pos, 0x6a, body, to, 'toolLiveness', false);
  }
  const isEmpty = io.at === end - 2;
  to = writeLastText(end, to, 0x3a);
  if (to < 0) return -1;
  if (isEmpty) {
    // `detail` is optional in the schema, so an empty one is written, unlike other text.
    io.dst[to++] = 0x3a;
    io.dst[to++] = 0;
  }
  return finish(pos, 0x6a, body, to, 'toolLiveness', false);
}

/** Field 1 of every hot frame; 0 is not written. Keeps the value in `last`. */
function writeTurnId(to: number): number {
  if (!readDigits()) return -1;
  last.turnId = io.value;
  if (io.value === 0) return to;
  io.dst[to] = 0x08;
  return writeVarint(io.dst, to + 1, io.value);
}

/** An `optional` int64, written also if it is 0. */
function writeInteger(to: number, tag: number): number {
  if (!readDigits()) return -1;
  io.dst[to] = tag;
  return writeVarint(io.dst, to + 1, io.value);
}

/** A string that more follows; an empty one is not written. Most fit a length of one byte. */
function writeText(end: number, to: number, tag: number): number {
  const text = to + 2;
  const textEnd = copyText(end - 2, text);
  if (textEnd < 0) return -1;
  if (textEnd === text) return to;
  io.dst[to] = tag;
  return closeLength(io.dst, to + 1, text, textEnd);
}

/** The string that ends the line together with the closing brace. */
function writeLastText(end: number, to: number, tag: number): number {
  const { src, dst } = io;
  const stop = end - 2;
  if (io.at > stop || src[stop] !== 0x22 || src[end - 1] !== 0x7d) return -1;
  const text = to + 1 + varintSize(stop - io.at);
  const textEnd = copyText(stop, text);
  if (textEnd < 0 || io.at !== stop) return -1;
  if (textEnd === text) return to;
  dst[to] = tag;
  return closeLength(dst, to + 1, text, textEnd);
}

function finish(
  pos: number,
  tag: number,
  body: number,
  to: number,
  kind: HotFrame['kind'],
  isDelta: boolean,
): number {
  io.dst[pos] = tag;
  last.kind = kind;
  last.isDelta = isDelta;
  return closeLength(io.dst, pos + 1, body, to);
}
