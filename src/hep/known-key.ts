import { decodeString } from './decode-string.js';

/** Every key of the catalogue, with its slot in a `Members` table. */
export const keySlot = {
  type: 0,
  hep: 1,
  fah: 2,
  session: 3,
  turn_id: 4,
  role: 5,
  delta: 6,
  id: 7,
  name: 8,
  args_summary: 9,
  update: 10,
  action: 11,
  elapsed_ms: 12,
  output_bytes: 13,
  detail: 14,
  message: 15,
  tool_results: 16,
  usage: 17,
  stop_reason: 18,
  error: 19,
  fatal: 20,
  tokens_freed: 21,
  ok: 22,
  text: 23,
  input: 24,
  output: 25,
  cost: 26,
} as const;

/** A key of the catalogue. */
export type Key = keyof typeof keySlot;

/** Number of slots. */
export const keySlots: number = Object.keys(keySlot).length;

interface KnownKey {
  readonly slot: number;
  readonly text: Uint8Array;
}

const slots: ReadonlyMap<string, number> = new Map(Object.entries(keySlot));
const byLength: readonly (readonly KnownKey[])[] = groupByLength();
const backslash = 0x5c;

/**
 * Slot of the key whose text stands between its quotes in `bytes[start, end)`, compared after
 * unescaping and with case; -1 if the catalogue does not have it.
 */
export function knownKeySlot(bytes: Uint8Array, start: number, end: number): number {
  for (const key of byLength[end - start] ?? []) {
    if (sameBytes(bytes, start, key.text)) return key.slot;
  }
  // Ill-formed text never equals a key of the catalogue, so whether it was altered is no matter.
  if (!hasEscape(bytes, start, end)) return -1;
  return slots.get(decodeString(bytes, start, end, { lossyText: false })) ?? -1;
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === backslash) return true;
  return false;
}

function groupByLength(): readonly (readonly KnownKey[])[] {
  const groups: KnownKey[][] = [];
  for (const [key, slot] of Object.entries(keySlot)) {
    const text = new TextEncoder().encode(key);
    groups[text.length] = [...(groups[text.length] ?? []), { slot, text }];
  }
  return groups;
}

function sameBytes(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[start + index] !== text[index]) return false;
  }
  return true;
}
