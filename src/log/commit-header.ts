import type { Commit } from '../ingest/run-log.js';

/** What `Hep-Commit` says. */
export interface CommitMark {
  readonly epoch: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
}

export function formatCommit(
  epoch: string,
  commit: Pick<Commit, 'firstSequence' | 'lastSequence'>,
): string {
  return `${epoch}:${commit.firstSequence}-${commit.lastSequence}`;
}

/** Undefined for any other text. */
export function parseCommit(text: string): CommitMark | undefined {
  const match = /^([0-9a-f]{1,64}):(\d{1,16})-(\d{1,16})$/.exec(text);
  if (match === null) return undefined;
  const [, epoch = '', first, last] = match;
  return { epoch, firstSequence: Number(first), lastSequence: Number(last) };
}
