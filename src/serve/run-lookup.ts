/** What subscriptions need to know of a run's record. */
export interface KnownRun {
  /** `hep.event.v1.<tenant>.<partition>.<run>`, without the class token. */
  readonly subjectPrefix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly partitionKey: string;
  /** RunFinished is committed. */
  readonly finished: boolean;
}

/** Finds a run's record; undefined if the tenant has no such run. Fails with `LOG_UNAVAILABLE`. */
export type LookupRun = (tenant: string, runId: string) => Promise<KnownRun | undefined>;
