/** Position of the first byte in `[at, end)` that is no JSON whitespace; `end` if there is none. */
export function skipWhitespace(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end) {
    const byte = bytes[next];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    next++;
  }
  return next;
}
