import { ProtocolViolation_Rule as Rule } from '#gen/hep/event/v1/event_pb.js';
import { decodeString } from './decode-string.js';
import { type JsonKind, jsonKind } from './json-kind.js';
import { type Key, keySlot } from './known-key.js';
import { addViolation, type LineReport } from './line-report.js';
import { parseDouble } from './parse-double.js';
import { parseInt64 } from './parse-int64.js';
import type { Members } from './scan-members.js';

const shownNumberBytes = 40;

/** One object of a frame, scanned; the functions below read its values and report what is wrong. */
export interface ObjectFields {
  readonly bytes: Uint8Array;
  readonly members: Members;
  /** Put before a key to make a violation's field path, e.g. `usage.`; empty for the frame. */
  readonly prefix: string;
  readonly report: LineReport;
}

/** Well-formed text; undefined if absent or no string. */
export function readString(fields: ObjectFields, key: Key, required = true): string | undefined {
  const at = valueStart(fields, key, 'string', required);
  if (at === 0) return undefined;
  return decodeString(fields.bytes, at + 1, valueEnd(fields, key) - 1, fields.report);
}

/** Undefined if absent, no number, no integer or beyond int64. */
export function readInt64(fields: ObjectFields, key: Key, required = true): bigint | undefined {
  const at = valueStart(fields, key, 'number', required);
  if (at === 0) return undefined;
  const value = parseInt64(fields.bytes, at, valueEnd(fields, key));
  if (value === undefined) reportOutOfRange(fields, key, 'int64');
  return value;
}

/** Undefined if absent, no number or not finite as a double. */
export function readDouble(fields: ObjectFields, key: Key): number | undefined {
  const at = valueStart(fields, key, 'number', true);
  if (at === 0) return undefined;
  const value = parseDouble(fields.bytes, at, valueEnd(fields, key));
  if (value === undefined) reportOutOfRange(fields, key, 'double');
  return value;
}

/** Undefined if absent or no boolean. */
export function readBoolean(fields: ObjectFields, key: Key): boolean | undefined {
  const at = valueStart(fields, key, 'boolean', true);
  return at === 0 ? undefined : fields.bytes[at] === 0x74;
}

/** Start of the key's value, 0 (never a value's place) if absent or of another kind. */
export function valueStart(
  fields: ObjectFields,
  key: Key,
  expected: JsonKind,
  required: boolean,
): number {
  const at = fields.members[2 * keySlot[key]] ?? 0;
  if (at === 0) {
    if (required) {
      addViolation(fields.report, Rule.MISSING, fields.prefix + key, 'required key is missing');
    }
    return 0;
  }
  const kind = jsonKind(fields.bytes[at]);
  if (kind === expected) return at;
  reportWrongType(fields.report, fields.prefix + key, expected, kind);
  return 0;
}

/** End, exclusive, of the key's value. */
export function valueEnd(fields: ObjectFields, key: Key): number {
  return fields.members[2 * keySlot[key] + 1] ?? 0;
}

/** The value at `field` is of another JSON type than the catalogue says. */
export function reportWrongType(
  report: LineReport,
  field: string,
  expected: JsonKind,
  got: JsonKind,
): void {
  addViolation(report, Rule.WRONG_TYPE, field, `expected ${expected}, got ${got}`);
}

function reportOutOfRange(fields: ObjectFields, key: Key, type: 'int64' | 'double'): void {
  const at = fields.members[2 * keySlot[key]] ?? 0;
  const end = Math.min(valueEnd(fields, key), at + shownNumberBytes);
  const number = decodeString(fields.bytes, at, end, fields.report);
  const detail = `${number} does not fit ${type}`;
  addViolation(fields.report, Rule.OUT_OF_RANGE, fields.prefix + key, detail);
}
