/**
 * Protobuf wire primitives for the hot path: they write into a buffer that the caller has made big
 * enough and return the position after what they wrote.
 */

/** Bytes that `writeVarint` needs; `value` is an integer from 0 to 2^53 - 1. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Writes an integer from 0 to 2^53 - 1. */
export function writeVarint(target: Uint8Array, at: number, value: number): number {
  let position = at;
  let rest = value;
  while (rest > 0x7fff_ffff) {
    target[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest > 127) {
    target[position++] = (rest & 127) | 0x80;
    rest >>>= 7;
  }
  target[position++] = rest;
  return position;
}

/** Writes a varint field whose tag takes one byte (numbers 1-15); nothing if the value is 0. */
export function writeVarintField(
  target: Uint8Array,
  at: number,
  fieldNumber: number,
  value: number,
): number {
  if (value === 0) return at;
  target[at] = fieldNumber << 3;
  return writeVarint(target, at + 1, value);
}
