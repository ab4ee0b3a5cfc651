import type { ProtocolViolation } from '#gen/hep/event/v1/event_pb.js';
import { MalformedLine_Reason as Reason } from '#gen/hep/event/v1/event_pb.js';
import { canonicalText } from './canonical-text.js';
import { decodeString } from './decode-string.js';
import type { FramePayload } from './frame-kind.js';
import { isUtf8 } from './is-utf8.js';
import { type JsonKind, jsonKind } from './json-kind.js';
import { keySlot } from './known-key.js';
import { newLineReport, reportedViolations } from './line-report.js';
import { parseInt64 } from './parse-int64.js';
import { readFrame } from './read-frame.js';
import { type Members, noMembers, scanMembers } from './scan-members.js';
import { skipValue } from './skip-value.js';
import { skipWhitespace } from './skip-whitespace.js';

/** A line that is a frame, of a known type or not. */
export interface DecodedFrame {
  readonly kind: 'frame';
  readonly payload: FramePayload;
  /** The line is the canonical text of its frame, so `Event.line` stays empty. */
  readonly canonical: boolean;
  /** Ill-formed text became U+FFFD in the payload. */
  readonly lossyText: boolean;
  /** Of the frame's own fields, at most 16; order is judged elsewhere. */
  readonly violations: ProtocolViolation[];
  /** Undefined if the frame has none, or none that fits. */
  readonly turnId: bigint | undefined;
}

/** A line that is no frame. */
export interface MalformedText {
  readonly kind: 'malformed';
  /** Never `TRUNCATED`: what the end of the source means is not the line's to say. */
  readonly reason: Reason;
  /** Short ASCII for people; may name a byte offset in the line, from 0. */
  readonly detail: string;
}

/** What a line is. */
export type DecodedLine = DecodedFrame | MalformedText;

/**
 * Decodes one line (without its 0x0A), whatever its bytes; never throws. A byte order mark is
 * skipped only with `atStreamStart`. Linear in the line's length, which is below 2 GiB.
 */
export function decodeLine(line: Uint8Array, atStreamStart = false): DecodedLine {
  const end = line.length;
  const start = skipWhitespace(line, atStreamStart && startsWithBom(line) ? 3 : 0, end);
  const members = noMembers();
  const isObject = start < end && line[start] === 0x7b;
  const afterValue = isObject
    ? scanMembers(line, start, end, members)
    : skipValue(line, start, end);
  const next = afterValue < 0 ? afterValue : skipWhitespace(line, afterValue, end);
  if (next !== end) return notJson(line, next < 0 ? ~next : next);
  if (!isObject) return notAFrame(`JSON ${jsonKind(line[start])}, not an object`);
  return decodeObject(line, members);
}

function decodeObject(line: Uint8Array, members: Members): DecodedLine {
  const typeStart = members[2 * keySlot.type] ?? 0;
  const typeEnd = members[2 * keySlot.type + 1] ?? 0;
  if (typeStart === 0) return notAFrame('no key type');
  const kind = jsonKind(line[typeStart]);
  if (kind !== 'string') return notAFrame(`type is ${withArticle(kind)}, not a string`);
  if (typeEnd - typeStart === 2) return notAFrame('type is empty');
  const report = newLineReport();
  const type = decodeString(line, typeStart + 1, typeEnd - 1, report);
  const payload = readFrame(type, { bytes: line, members, prefix: '', report });
  const canonical = !report.lossyText && sameBytes(line, canonicalText(payload));
  return {
    kind: 'frame',
    payload,
    canonical,
    lossyText: report.lossyText,
    violations: reportedViolations(report),
    turnId: turnIdOf(payload, line, members),
  };
}

/** `turnId` in a payload is 0 also if the line had none that fits. */
function turnIdOf(payload: FramePayload, line: Uint8Array, members: Members): bigint | undefined {
  if (payload.case === 'hepHeader' || payload.case === 'unknownFrame') return undefined;
  if (payload.value.turnId !== 0n) return payload.value.turnId;
  const start = members[2 * keySlot.turn_id] ?? 0;
  if (start === 0 || jsonKind(line[start]) !== 'number') return undefined;
  return parseInt64(line, start, members[2 * keySlot.turn_id + 1] ?? 0);
}

function notJson(line: Uint8Array, offset: number): MalformedText {
  const reason = isUtf8(line, 0, line.length) ? Reason.NOT_JSON : Reason.INVALID_UTF8;
  return { kind: 'malformed', reason, detail: `not JSON at byte ${offset}` };
}

function notAFrame(detail: string): MalformedText {
  return { kind: 'malformed', reason: Reason.NOT_A_FRAME, detail };
}

function withArticle(kind: JsonKind): string {
  if (kind === 'null') return kind;
  return kind === 'array' || kind === 'object' ? `an ${kind}` : `a ${kind}`;
}

function startsWithBom(line: Uint8Array): boolean {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf;
}

function sameBytes(line: Uint8Array, text: Uint8Array | undefined): boolean {
  if (text?.length !== line.length) return false;
  for (let at = 0; at < line.length; at++) if (line[at] !== text[at]) return false;
  return true;
}
