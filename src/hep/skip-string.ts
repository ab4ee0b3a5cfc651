/**
 * Position after the JSON string that starts at `at`; `~offset` (negative) of the first byte that
 * cannot continue it, `~end` if the text stops inside. Bytes from 0x80 are taken as they are: UTF-8
 * is judged where the string is read.
 */
export function skipString(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end || bytes[at] !== 0x22) return ~at;
  let next = at + 1;
  while (next < end) {
    const byte = bytes[next] ?? 0;
    if (byte === 0x22) return next + 1;
    if (byte < 0x20) return ~next;
    if (byte === 0x5c) {
      next = skipEscape(bytes, next + 1, end);
      if (next < 0) return next;
    } else {
      next++;
    }
  }
  return ~end;
}

/** The same for what follows a backslash. */
function skipEscape(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return ~end;
  switch (bytes[at]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 1;
    case 0x75: // u
      for (let digit = at + 1; digit < at + 5; digit++) {
        if (digit >= end) return ~end;
        if (!isHexDigit(bytes[digit] ?? 0)) return ~digit;
      }
      return at + 5;
    default:
      return ~at;
  }
}

function isHexDigit(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x46) ||
    (byte >= 0x61 && byte <= 0x66)
  );
}
