/** How long an escalation waits between its signals. */
export interface Graces {
  /** From SIGINT to SIGTERM. */
  readonly interruptGraceMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly terminateGraceMs: number;
}

/** Of each the shorter one. */
export function shortestGraces(a: Graces, b: Graces): Graces {
  return {
    interruptGraceMs: Math.min(a.interruptGraceMs, b.interruptGraceMs),
    terminateGraceMs: Math.min(a.terminateGraceMs, b.terminateGraceMs),
  };
}

export function sameGraces(a: Graces, b: Graces): boolean {
  return a.interruptGraceMs === b.interruptGraceMs && a.terminateGraceMs === b.terminateGraceMs;
}
