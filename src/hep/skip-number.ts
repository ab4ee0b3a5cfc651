/**
 * Position after the longest JSON number that starts at `at` (RFC 8259: no leading zero, no plus);
 * `~offset` (negative) of the first byte that cannot continue it.
 */
export function skipNumber(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  if (next < end && bytes[next] === 0x2d) next++;
  if (next < end && bytes[next] === 0x30) {
    next++;
  } else {
    next = skipDigits(bytes, next, end);
    if (next < 0) return next;
  }
  if (next < end && bytes[next] === 0x2e) {
    next = skipDigits(bytes, next + 1, end);
    if (next < 0) return next;
  }
  if (next < end && (bytes[next] === 0x65 || bytes[next] === 0x45)) {
    next++;
    if (next < end && (bytes[next] === 0x2b || bytes[next] === 0x2d)) next++;
    next = skipDigits(bytes, next, end);
  }
  return next;
}

/** At least one digit is needed. */
function skipDigits(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && isDigit(bytes[next] ?? 0)) next++;
  return next === at ? ~at : next;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
