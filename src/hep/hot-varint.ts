/** Bytes of `value` (an integer from 0 to 2^53 - 1) as a varint. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  let size = 3;
  for (let rest = Math.floor(value / 0x200000); rest > 0; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

/** Writes `value` (an integer from 0 to 2^53 - 1) at `at`; returns the position after it. */
export function writeVarint(dst: Uint8Array, at: number, value: number): number {
  let to = at;
  let rest = value;
  while (rest >= 0x80) {
    dst[to++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  dst[to++] = rest;
  return to;
}

/**
 * Puts the length of `dst[start, end)` as a varint at `at`, where `start - at` bytes were kept
 * free, and moves the content if that was not the length's size. Returns the content's new end.
 */
export function closeLength(dst: Uint8Array, at: number, start: number, end: number): number {
  const length = end - start;
  const size = varintSize(length);
  const moved = at + size - start;
  if (moved !== 0) dst.copyWithin(start + moved, start, end);
  if (size === 1) dst[at] = length;
  else writeVarint(dst, at, length);
  return end + moved;
}
