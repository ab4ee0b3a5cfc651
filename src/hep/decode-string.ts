import { countIllFormed } from './is-utf8.js';
import { utf8SequenceLength } from './utf8-sequence.js';

/** Set by a reader when text had to be replaced by U+FFFD. */
export interface TextReport {
  lossyText: boolean;
}

const backslash = 0x5c;
const shortText = 24;
// The BOM inside a string is text like any other.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Text of the valid JSON string whose inside (without quotes) is `bytes[start, end)`, well-formed:
 * ill-formed UTF-8 and lone surrogate escapes are U+FFFD, which is told to `report`.
 */
export function decodeString(
  bytes: Uint8Array,
  start: number,
  end: number,
  report: TextReport,
): string {
  if (isPlain(bytes, start, end)) {
    if (end - start > shortText) return decoder.decode(bytes.subarray(start, end));
    let text = '';
    for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] ?? 0);
    return text;
  }
  // An ill-formed subpart of at least one byte becomes three; an escape never grows.
  const utf8 = new Uint8Array(end - start + 2 * countIllFormed(bytes, start, end));
  return decoder.decode(utf8.subarray(0, unescapeInto(utf8, bytes, start, end, report)));
}

/** ASCII without escapes. */
function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 || byte === backslash) return false;
  }
  return true;
}

/** Writes well-formed UTF-8 to `utf8` and returns its length. */
function unescapeInto(
  utf8: Uint8Array,
  bytes: Uint8Array,
  start: number,
  end: number,
  report: TextReport,
): number {
  let to = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at] ?? 0;
    if (byte === backslash) {
      const unit = escapedUnit(bytes, at);
      at += bytes[at + 1] === 0x75 ? 6 : 2;
      const low = isHighSurrogate(unit) && at < end ? escapedUnit(bytes, at) : 0;
      if (isLowSurrogate(low)) {
        at += 6;
        to = writeCodePoint(utf8, to, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
      } else if (isHighSurrogate(unit) || isLowSurrogate(unit)) {
        report.lossyText = true;
        to = writeCodePoint(utf8, to, 0xfffd);
      } else {
        to = writeCodePoint(utf8, to, unit);
      }
    } else if (byte < 0x80) {
      utf8[to++] = byte;
      at++;
    } else {
      const length = utf8SequenceLength(bytes, at, end);
      if (length < 0) {
        report.lossyText = true;
        to = writeCodePoint(utf8, to, 0xfffd);
        at -= length;
      } else {
        for (const next = at + length; at < next; at++) utf8[to++] = bytes[at] ?? 0;
      }
    }
  }
  return to;
}

/** UTF-16 unit of the escape at `at`; -1 if there is none. */
function escapedUnit(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== backslash) return -1;
  switch (bytes[at + 1]) {
    case 0x62:
      return 0x08;
    case 0x66:
      return 0x0c;
    case 0x6e:
      return 0x0a;
    case 0x72:
      return 0x0d;
    case 0x74:
      return 0x09;
    case 0x75:
      return (
        (hexDigit(bytes[at + 2]) << 12) |
        (hexDigit(bytes[at + 3]) << 8) |
        (hexDigit(bytes[at + 4]) << 4) |
        hexDigit(bytes[at + 5])
      );
    default:
      return bytes[at + 1] ?? 0;
  }
}

/** Value of a valid hexadecimal digit. */
function hexDigit(byte: number = 0): number {
  return byte <= 0x39 ? byte - 0x30 : (byte & 0x1f) + 9;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Returns the position after the code point. */
function writeCodePoint(utf8: Uint8Array, at: number, codePoint: number): number {
  let to = at;
  if (codePoint < 0x80) {
    utf8[to++] = codePoint;
    return to;
  }
  if (codePoint < 0x800) {
    utf8[to++] = 0xc0 | (codePoint >> 6);
  } else {
    if (codePoint < 0x10000) {
      utf8[to++] = 0xe0 | (codePoint >> 12);
    } else {
      utf8[to++] = 0xf0 | (codePoint >> 18);
      utf8[to++] = 0x80 | ((codePoint >> 12) & 0x3f);
    }
    utf8[to++] = 0x80 | ((codePoint >> 6) & 0x3f);
  }
  utf8[to++] = 0x80 | (codePoint & 0x3f);
  return to;
}
