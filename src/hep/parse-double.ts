const decoder = new TextDecoder();

/**
 * Nearest double of the valid JSON number in `bytes[start, end)`, with its sign also for zero;
 * undefined if it is beyond the finite doubles.
 */
export function parseDouble(bytes: Uint8Array, start: number, end: number): number | undefined {
  const value = Number(decoder.decode(bytes.subarray(start, end)));
  return Number.isFinite(value) ? value : undefined;
}
