/**
 * True if `bytes[start, end)` holds only blanks, tabs and carriage returns, or nothing: no frame,
 * no event, no sequence.
 */
export function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}
