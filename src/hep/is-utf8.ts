import { utf8SequenceLength } from './utf8-sequence.js';

/** True if `bytes[start, end)` is well-formed UTF-8. */
export function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  return countIllFormed(bytes, start, end, 1) === 0;
}

/** Number of ill-formed subparts in `bytes[start, end)`, counted up to `most`. */
export function countIllFormed(
  bytes: Uint8Array,
  start: number,
  end: number,
  most: number = Number.POSITIVE_INFINITY,
): number {
  let count = 0;
  let at = start;
  while (at < end && count < most) {
    if ((bytes[at] ?? 0) < 0x80) {
      at++;
      continue;
    }
    const length = utf8SequenceLength(bytes, at, end);
    if (length < 0) count++;
    at += Math.abs(length);
  }
  return count;
}
