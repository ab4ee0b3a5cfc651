const msOfUnit: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const bytesOfUnit: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
};

/** What a duration looks like, for messages. */
export const DURATION_FORM = 'a duration such as 500ms, 12s, 5m, 2h or 30d';
/** What a size looks like, for messages. */
export const SIZE_FORM = 'a number of bytes, or a size such as 64KiB, 16MiB or 2GiB';

/** Milliseconds; undefined if `text` is no duration. */
export function parseDuration(text: string): number | undefined {
  return parseQuantity(text, msOfUnit);
}

/** Bytes; undefined if `text` is no size. */
export function parseSize(text: string): number | undefined {
  return parseQuantity(/^\d+$/.test(text) ? `${text}B` : text, bytesOfUnit);
}

function parseQuantity(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, amount = '', name = ''] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)$/.exec(text.trim()) ?? [];
  const unit = Object.hasOwn(units, name) ? units[name] : undefined;
  if (unit === undefined) return undefined;
  const value = Math.round(Number(amount) * unit);
  return Number.isSafeInteger(value) ? value : undefined;
}
