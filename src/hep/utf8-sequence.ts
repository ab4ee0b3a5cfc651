/**
 * Length of the UTF-8 sequence whose lead byte (0x80 or above) stands at `at`, cut off by `end`.
 * Negative if it is ill-formed: minus the length of its maximal subpart, the bytes that one U+FFFD
 * stands for by the WHATWG rule.
 */
export function utf8SequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte alone shuts out overlong forms, surrogates and what lies above U+10FFFF.
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  const second = at + 1 < end ? (bytes[at + 1] ?? 0) : 0;
  if (second < low || second > high) return -1;
  for (let index = 2; index < length; index++) {
    const byte = at + index < end ? (bytes[at + index] ?? 0) : 0;
    if (byte < 0x80 || byte > 0xbf) return -index;
  }
  return length;
}
