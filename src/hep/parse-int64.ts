const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);
const plainDigits = 15;
// No line is long enough for its digits to make up for an exponent beyond this.
const exponentCap = 1e15;

/**
 * Value of the valid JSON number in `bytes[start, end)`, judged by its digits and never through a
 * float, so `1.0`, `1e3` and `-0` are integers; undefined if it is none or does not fit int64.
 */
export function parseInt64(bytes: Uint8Array, start: number, end: number): bigint | undefined {
  const plain = parsePlain(bytes, start, end);
  if (plain >= 0) return BigInt(plain);
  const negative = bytes[start] === 0x2d;
  let digits = '';
  // Digits after the last kept one that is not zero; written only if another such digit follows.
  let zeros = 0;
  let scale = 0;
  let inFraction = false;
  let at = negative ? start + 1 : start;
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x2e) {
      inFraction = true;
      continue;
    }
    if (byte < 0x30 || byte > 0x39) break;
    if (inFraction) scale--;
    if (byte === 0x30) {
      if (digits !== '') zeros++;
      continue;
    }
    // More than 19 significant digits: the value is too large or has a fraction.
    if (digits.length + zeros >= 19) return undefined;
    digits += '0'.repeat(zeros) + String.fromCharCode(byte);
    zeros = 0;
  }
  if (digits === '') return 0n;
  scale += zeros + (at < end ? parseExponent(bytes, at + 1, end) : 0);
  if (scale < 0 || digits.length + scale > 19) return undefined;
  const magnitude = BigInt(digits + '0'.repeat(scale));
  const value = negative ? -magnitude : magnitude;
  return value > MAX || value < MIN ? undefined : value;
}

/** Value of up to 15 plain digits, else -1. */
function parsePlain(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > plainDigits) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function parseExponent(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start];
  let value = 0;
  for (let at = sign === 0x2b || sign === 0x2d ? start + 1 : start; at < end; at++) {
    value = Math.min(value * 10 + (bytes[at] ?? 0) - 0x30, exponentCap);
  }
  return sign === 0x2d ? -value : value;
}
