import { decodeString } from './decode-string.js';

/**
 * Nearest double of the valid JSON number in `bytes[start, end)`, with its sign also for zero;
 * undefined if it is beyond the finite doubles.
 */
export function parseDouble(bytes: Uint8Array, start: number, end: number): number | undefined {
  const value = Number(decodeString(bytes, start, end, { lossyText: false }));
  return Number.isFinite(value) ? value : undefined;
}
