/**
 * What happened, as those who took part wrote it down, each by a way of its own. Times are milliseconds
 * of one machine's clock; entries of one party stand in the order in which it saw them.
 */
export type Entry = { readonly timeMs: number } & (
  | { readonly kind: 'wrote'; readonly run: string; readonly line: string }
  /** The agent ended by itself or by a signal, says its journal or its parent. */
  | { readonly kind: 'exited'; readonly run: string }
  /** A signal reached the agent. */
  | { readonly kind: 'got'; readonly run: string; readonly signal: string }
  /** The client that feeds the run was told that these bytes are committed. */
  | {
      readonly kind: 'acked';
      readonly run: string;
      readonly sequence: number;
      readonly bytes: number;
    }
  | { readonly kind: 'asked'; readonly run: string; readonly requestId: string }
  /** `sequence` 0: the run was over. */
  | {
      readonly kind: 'answered';
      readonly run: string;
      readonly requestId: string;
      readonly sequence: number;
    }
  /** A reader begins behind `after` (0: the beginning), or goes on there; `run` `*`: all runs. */
  | {
      readonly kind: 'subscribed';
      readonly reader: string;
      readonly run: string;
      readonly by: 'beginning' | 'sequence' | 'cursor';
      readonly after: number;
    }
  | ({ readonly kind: 'saw'; readonly reader: string } & Seen)
  | { readonly kind: 'left'; readonly reader: string; readonly status: string }
  | {
      readonly kind: 'handled';
      readonly worker: string;
      readonly run: string;
      readonly first: number;
      readonly last: number;
    }
  /** What was done to a party; `run` if it is one run's agent or client. */
  | { readonly kind: 'fault'; readonly what: string; readonly run?: string }
  /** The log as it is at the end, in stream order. */
  | ({ readonly kind: 'stored' } & Seen & { readonly line?: string; readonly end?: End })
);

/** An event as a reader has it. */
export interface Seen {
  readonly run: string;
  readonly sequence: number;
  /** Of the event's bytes. */
  readonly digest: string;
  /** Payload's name, e.g. `messageDelta`. */
  readonly what: string;
}

/** What RunFinished says. */
export interface End {
  readonly outcome: string;
  readonly reason: string;
  readonly detail: string;
  readonly synthetic: boolean;
  /** The exit was observed. */
  readonly observed: boolean;
  readonly stdoutBytes: number;
}

/** What the history is held to. */
export interface Terms {
  /** From a cancel's answer to the run's end, where nobody stood still or was away: graces and reading. */
  readonly cancelWithinMs: number;
  /** Runs that nothing was done to, with the outcomes they must have. */
  readonly bystanders: ReadonlyMap<string, string>;
  /** Shortest time away after which an owner or a client may be called lost. */
  readonly lostAfterMs: number;
}

export interface History {
  readonly entries: readonly Entry[];
  readonly terms: Terms;
}

export type EntryOf<Kind extends Entry['kind']> = Extract<Entry, { readonly kind: Kind }>;

/** Entries of one kind, in the order of the history. */
export function entriesOf<Kind extends Entry['kind']>(
  { entries }: History,
  kind: Kind,
): readonly EntryOf<Kind>[] {
  return entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind);
}

export function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
