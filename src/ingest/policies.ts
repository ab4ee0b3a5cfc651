/** Limits of one run; what is absent is not limited. Plain JSON: it is kept with the run. */
export interface Policies {
  /** Of the whole run, from its creation. */
  readonly deadlineMs?: number;
  /** Without a frame. */
  readonly stallMs?: number;
  /** From the creation to the header. */
  readonly headerWithinMs?: number;
  /** Input and output tokens, as turn_done reports them. */
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly maxEvents?: number;
  readonly maxStdoutBytes?: number;
}

const NAMES = [
  'deadlineMs',
  'stallMs',
  'headerWithinMs',
  'maxTokens',
  'maxCost',
  'maxEvents',
  'maxStdoutBytes',
] as const satisfies readonly (keyof Policies)[];

/** Of each limit the stricter one. */
export function strictestPolicies(a: Policies, b: Policies): Policies {
  const strictest: { -readonly [Name in keyof Policies]: Policies[Name] } = {};
  for (const name of NAMES) {
    const limit = Math.min(
      a[name] ?? Number.POSITIVE_INFINITY,
      b[name] ?? Number.POSITIVE_INFINITY,
    );
    if (Number.isFinite(limit)) strictest[name] = limit;
  }
  return strictest;
}
