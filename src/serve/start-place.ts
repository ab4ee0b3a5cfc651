import { BridgeError } from '../errors.js';
import type { LogBounds, LogReader } from '../log/log-reader.js';
import type { StoredMessage } from '../log/stored-message.js';
import { readBatchHead } from './batch-walk.js';
import { historyGone } from './chain-check.js';
import type { CursorBook } from './cursor.js';
import type { KnownRun } from './run-lookup.js';
import type { Start } from './subscribe-plan.js';

/** Where reading starts. */
export interface Place {
  /** Messages up to this stream sequence, inclusive, are not wanted. */
  readonly streamSequence: number;
  /** Events up to this sequence, inclusive, are not wanted. */
  readonly afterSequence: number;
  /** Last event sequence the reader has; undefined if unknown. */
  readonly seen: number | undefined;
}

/** Stream distance at which reading on is cheaper than one more look into the log. */
const seekWithin = 2048;

/**
 * Where a subscription to one run starts. Fails with `HISTORY_GONE`, `CURSOR_AHEAD` and what the cursor
 * book says.
 */
export async function placeInRun(
  reader: LogReader,
  bounds: LogBounds,
  runId: string,
  run: KnownRun,
  start: Start,
  cursors: CursorBook,
  signal: AbortSignal,
): Promise<Place> {
  switch (start.kind) {
    case 'cursor':
      return placeAtCursor(bounds, cursors, start.cursor);
    case 'tail':
      return placeAtTail(await reader.lastOfRun(run.subjectPrefix), bounds);
    case 'earliest':
      return { streamSequence: 0, afterSequence: 0, seen: undefined };
    case 'beginning': {
      const first = await reader.firstOfRun(run.subjectPrefix);
      if (first !== undefined && first.firstSequence > 1) {
        throw historyGone(runId, first.firstSequence);
      }
      return { streamSequence: (first?.streamSequence ?? 1) - 1, afterSequence: 0, seen: 0 };
    }
    case 'after':
      return placeAfter(reader, runId, run, start.sequence, signal);
  }
}

/** Where a subscription to a filter starts; fails as `placeInRun` does. */
export function placeInStream(bounds: LogBounds, start: Start, cursors: CursorBook): Place {
  switch (start.kind) {
    case 'cursor':
      return placeAtCursor(bounds, cursors, start.cursor);
    case 'tail':
    case 'after':
      return { streamSequence: bounds.lastStreamSequence, afterSequence: 0, seen: undefined };
    case 'earliest':
      return { streamSequence: 0, afterSequence: 0, seen: undefined };
    case 'beginning':
      if (bounds.firstStreamSequence > 1) {
        throw new BridgeError(
          'HISTORY_GONE',
          'retention took the beginning of the log away; subscribe from EARLIEST',
          { metadata: { first_stream_sequence: String(bounds.firstStreamSequence) } },
        );
      }
      return { streamSequence: 0, afterSequence: 0, seen: undefined };
  }
}

function placeAtCursor(bounds: LogBounds, cursors: CursorBook, cursor: string): Place {
  const { streamSequence, eventSequence } = cursors.read(cursor);
  if (streamSequence > bounds.lastStreamSequence) {
    throw new BridgeError(
      'CURSOR_AHEAD',
      'the cursor is ahead of the log: the log has lost what it once held; ' +
        'start from the beginning',
      { metadata: { last_stream_sequence: String(bounds.lastStreamSequence) } },
    );
  }
  return { streamSequence, afterSequence: 0, seen: eventSequence };
}

/** A finished run's tail is its RunFinished: without it the reader could not know that it is over. */
function placeAtTail(last: StoredMessage | undefined, bounds: LogBounds): Place {
  if (last !== undefined && readBatchHead(last.body).endsRun) {
    const before = last.lastSequence - 1;
    return { streamSequence: last.streamSequence - 1, afterSequence: before, seen: undefined };
  }
  return { streamSequence: bounds.lastStreamSequence, afterSequence: 0, seen: undefined };
}

async function placeAfter(
  reader: LogReader,
  runId: string,
  run: KnownRun,
  after: number,
  signal: AbortSignal,
): Promise<Place> {
  const first = await reader.firstOfRun(run.subjectPrefix);
  const last = await reader.lastOfRun(run.subjectPrefix);
  if (first === undefined || last === undefined) {
    if (run.finished) throw historyGone(runId, 0);
    throw sequenceAhead(runId, after, 0);
  }
  const lastWhole = last.class === 'part' ? last.lastSequence - 1 : last.lastSequence;
  if (after > lastWhole) throw sequenceAhead(runId, after, lastWhole);
  if (first.firstSequence > after + 1) throw historyGone(runId, first.firstSequence);
  const place = { afterSequence: after, seen: after };
  if (first.firstSequence > after) return { ...place, streamSequence: first.streamSequence - 1 };
  if (after === last.lastSequence) return { ...place, streamSequence: last.streamSequence };
  return { ...place, streamSequence: await seek(reader, run, first, last, after, signal) };
}

/**
 * A stream sequence before the first event after `after`, and not far before it, by halving. A message
 * that begins at `after` or earlier is never behind it, so it is safe to start there.
 */
async function seek(
  reader: LogReader,
  run: KnownRun,
  first: StoredMessage,
  last: StoredMessage,
  after: number,
  signal: AbortSignal,
): Promise<number> {
  let low = first.streamSequence;
  let high = last.streamSequence;
  while (high - low > seekWithin) {
    const middle = low + Math.floor((high - low) / 2);
    const found = await firstFrom(reader, `${run.subjectPrefix}.*`, middle, signal);
    if (found !== undefined && found.firstSequence <= after) low = found.streamSequence;
    else high = middle - 1;
  }
  return low - 1;
}

async function firstFrom(
  reader: LogReader,
  filter: string,
  streamSequence: number,
  signal: AbortSignal,
): Promise<StoredMessage | undefined> {
  for await (const messages of reader.read(filter, streamSequence, signal)) return messages[0];
  return undefined;
}

function sequenceAhead(runId: string, after: number, last: number): BridgeError {
  return new BridgeError(
    'CURSOR_AHEAD',
    `after_sequence ${after} is ahead of run ${runId}, whose last sequence is ${last}`,
    { metadata: { run_id: runId, last_sequence: String(last) } },
  );
}
