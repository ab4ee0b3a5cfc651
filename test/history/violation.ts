import type { Entry } from './history.js';

/** The promises of docs/guarantees.md. */
export type Guarantee =
  | 'Ordered'
  | 'Contiguous'
  | 'Unique'
  | 'Lossless'
  | 'Committed-before-visible'
  | 'Resumable'
  | 'Bookmarkable'
  | 'Terminal'
  | 'Cancel-terminates'
  | 'Isolated'
  | 'Honest-loss';

/** A promise that was not kept. */
export interface Violation {
  readonly guarantee: Guarantee;
  readonly run: string;
  readonly why: string;
  /** The smallest piece of the history that shows it. */
  readonly piece: readonly Entry[];
}

/** For people: what is broken, where, and the piece that shows it. */
export function violationText({ guarantee, run, why, piece }: Violation): string {
  const lines = piece.slice(0, 12).map((entry) => `    ${JSON.stringify(entry)}`);
  return [`${guarantee} is broken in run ${run}: ${why}`, ...lines].join('\n');
}
