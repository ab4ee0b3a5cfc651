import { keySlots, knownKeySlot } from './known-key.js';
import { skipString } from './skip-string.js';
import { skipKey, skipValue } from './skip-value.js';
import { skipWhitespace } from './skip-whitespace.js';

/**
 * Where the values of an object's catalogue keys stand: start and end (exclusive) at
 * `2 * slot` and `2 * slot + 1`, both 0 if the key is absent.
 */
export type Members = number[];

/** A table without members. */
export function noMembers(): Members {
  return new Array<number>(2 * keySlots).fill(0);
}

/**
 * Reads the object that starts at `at` into `members` (empty before); of duplicate keys the last
 * wins. Returns the position after the object, or `~offset` (negative) as `skipValue` does.
 */
export function scanMembers(bytes: Uint8Array, at: number, end: number, members: Members): number {
  let key = skipWhitespace(bytes, at + 1, end);
  if (key < end && bytes[key] === 0x7d) return key + 1;
  for (;;) {
    const value = skipKey(bytes, key, end);
    if (value < 0) return value;
    const afterValue = skipValue(bytes, value, end);
    if (afterValue < 0) return afterValue;
    const slot = knownKeySlot(bytes, key + 1, skipString(bytes, key, end) - 1);
    if (slot >= 0) {
      members[2 * slot] = value;
      members[2 * slot + 1] = afterValue;
    }
    const next = skipWhitespace(bytes, afterValue, end);
    if (next < end && bytes[next] === 0x7d) return next + 1;
    if (next >= end || bytes[next] !== 0x2c) return ~next;
    key = skipWhitespace(bytes, next + 1, end);
  }
}
