const units: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** How long ago, in the largest unit that fills: `4s`, `12m`, `5h`, `3d`. */
export function ageText(ms: number): string {
  const [name, unitMs] = units.find(([, unit]) => ms >= unit) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / unitMs))}${name}`;
}

/** How long it took: `3.2s`, `2m5s`, `1h12m`. */
export function tookText(ms: number): string {
  if (ms < 60_000) return `${(Math.max(0, ms) / 1_000).toFixed(1)}s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.floor((ms % 60_000) / 1_000);
  return minutes < 60 ? `${minutes}m${seconds}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}
