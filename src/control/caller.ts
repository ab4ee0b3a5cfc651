/** Who calls. */
export interface Caller {
  /** Tenant of the caller, unescaped. */
  readonly tenant: string;
  /** Name for `actor` fields; empty when callers are not told apart. */
  readonly actor: string;
}
