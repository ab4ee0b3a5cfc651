/** One time without a party: killed and not ready again yet, or stopped. */
export interface Absence {
  readonly fromMs: number;
  /** Infinity while it lasts. */
  readonly toMs: number;
}

/** When a party was away, by the wall clock. */
export interface Absences {
  readonly list: readonly Absence[];
  /** It goes away now; the answer ends that. */
  begin(): () => void;
}

export function createAbsences(): Absences {
  const list: Absence[] = [];
  return {
    list,
    begin() {
      const at = list.length;
      const fromMs = Date.now();
      list.push({ fromMs, toMs: Number.POSITIVE_INFINITY });
      return () => {
        list[at] = { fromMs, toMs: Date.now() };
      };
    },
  };
}

/** Between two absences a party may not have come to say that it lives. */
const BREATH_MS = 1_000;

/**
 * The longest time, in which `own` had a part, that a party cannot have shown that it lives: with the
 * absences of those that it needs for that, and those that follow one another at once as one. Only
 * what reaches into `fromMs` to `toMs` counts.
 */
export function longestSilenceMs(
  own: readonly Absence[],
  needed: readonly Absence[],
  fromMs: number,
  toMs: number,
): number {
  let longest = 0;
  for (const { hasOwn, ...silence } of merged(own, needed)) {
    if (!hasOwn || silence.fromMs > toMs || silence.toMs < fromMs) continue;
    longest = Math.max(longest, Math.min(silence.toMs, toMs) - silence.fromMs);
  }
  return longest;
}

interface Silence extends Absence {
  readonly hasOwn: boolean;
}

function merged(own: readonly Absence[], needed: readonly Absence[]): readonly Silence[] {
  const all = [
    ...own.map((absence) => ({ ...absence, hasOwn: true })),
    ...needed.map((absence) => ({ ...absence, hasOwn: false })),
  ].sort((a, b) => a.fromMs - b.fromMs);
  const silences: Silence[] = [];
  for (const next of all) {
    const last = silences.at(-1);
    if (last === undefined || next.fromMs > last.toMs + BREATH_MS) {
      silences.push(next);
      continue;
    }
    const toMs = Math.max(last.toMs, next.toMs);
    silences[silences.length - 1] = { ...last, toMs, hasOwn: last.hasOwn || next.hasOwn };
  }
  return silences;
}
