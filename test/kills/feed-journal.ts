import { readEntries } from './agent-journal.js';

/** What an Ingest client says that it did; see feed.mjs. */
export type FeedEntry = { readonly ms: number } & (
  | { readonly kind: 'open'; readonly bridge: number }
  | { readonly kind: 'cut'; readonly code: string; readonly message: string; readonly to: number }
  | { readonly kind: 'refused' | 'gave-up'; readonly code: string; readonly message: string }
  | { readonly kind: 'cancel'; readonly requestId: string }
  | { readonly kind: 'ended'; readonly exitCode?: number; readonly signal?: string }
  | {
      readonly kind: 'finished';
      readonly outcome: number;
      readonly reason: number;
      readonly lastSequence: number;
    }
);

export function readFeedJournal(file: string): FeedEntry[] {
  return readEntries<FeedEntry>(file);
}

/** The longest time that the client was with no bridge, up to `untilMs`. */
export function longestAwayMs(entries: readonly FeedEntry[], untilMs: number): number {
  let longest = 0;
  let cutMs: number | undefined;
  for (const { kind, ms } of entries) {
    if (kind === 'cut') cutMs ??= ms;
    if (kind !== 'open' || cutMs === undefined) continue;
    longest = Math.max(longest, ms - cutMs);
    cutMs = undefined;
  }
  return cutMs === undefined ? longest : Math.max(longest, untilMs - cutMs);
}
