/** How often each kind of thing happened. */
export interface Tally {
  add(kind: string): void;
  readonly counts: ReadonlyMap<string, number>;
  /** `3 this, 4 that`, by name. */
  text(): string;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  return {
    counts,
    add(kind) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    text() {
      const parts = [...counts].sort().map(([kind, count]) => `${count} ${kind}`);
      return parts.length === 0 ? 'none' : parts.join(', ');
    },
  };
}
