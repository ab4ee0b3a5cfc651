import {
  fieldEvents,
  readEnd,
  readVarint,
  skipField,
  type Walk,
  walkOver,
  wireBytes,
} from './batch-walk.js';

/** Which events of a batch are left out. */
export interface CutChoices {
  /** Leave out events up to this sequence, inclusive; 0 = none. */
  readonly afterSequence: number;
  /** Leave out message_delta and tool_delta. */
  readonly dropDeltas: boolean;
  /** Leave out deltas of turns 1 up to this one, inclusive; 0 = none. */
  readonly closedTurn: number;
}

const tagEvents = (fieldEvents << 3) | wireBytes;
const tagPart = (14 << 3) | wireBytes;
const tagMessageDelta = (10 << 3) | wireBytes;
const tagToolDelta = (11 << 3) | wireBytes;
const tagTurnDone = (14 << 3) | wireBytes;
const tagTurnError = (18 << 3) | wireBytes;
const tagCancelled = (19 << 3) | wireBytes;

/** An event as the cut sees it. */
interface EventHead {
  sequence: number;
  /** Tag of the payload; 0 if there is none. */
  payloadTag: number;
  turnId: number;
}

/**
 * A serialized `EventBatch` without the events that `choices` leave out, by tags and lengths: `body`
 * itself if nothing is left out, a copy of the head and the events that stay, or undefined if no
 * event stays. A batch with an `EventPart` is judged by the part's sequence alone. Fails with
 * `INTERNAL` if `body` is no `EventBatch`.
 */
export function cutBatch(body: Uint8Array, choices: CutChoices): Uint8Array | undefined {
  const walk = walkOver(body);
  const kept: number[] = [];
  let keptEvents = 0;
  let keptBytes = 0;
  let spanStart = 0;
  let dropped = false;
  while (walk.at < walk.end) {
    const fieldStart = walk.at;
    const tag = readVarint(walk);
    if (tag === tagPart) {
      const end = readEnd(walk);
      if (readEventHead({ bytes: body, at: walk.at, end }).sequence <= choices.afterSequence) {
        return undefined;
      }
      walk.at = end;
      continue;
    }
    if (tag !== tagEvents) {
      skipField(walk, tag);
      continue;
    }
    const end = readEnd(walk);
    const keep = keepsEvent(readEventHead({ bytes: body, at: walk.at, end }), choices);
    walk.at = end;
    if (keep) {
      keptEvents++;
      continue;
    }
    dropped = true;
    if (fieldStart > spanStart) kept.push(spanStart, fieldStart);
    keptBytes += fieldStart - spanStart;
    spanStart = end;
  }
  if (!dropped) return body;
  if (keptEvents === 0) return undefined;
  if (walk.end > spanStart) kept.push(spanStart, walk.end);
  keptBytes += walk.end - spanStart;
  return copySpans(body, kept, keptBytes);
}

/** Highest turn that a terminal frame in `body` closes; 0 if none does. */
export function closedTurnIn(body: Uint8Array): number {
  const walk = walkOver(body);
  let closed = 0;
  while (walk.at < walk.end) {
    const tag = readVarint(walk);
    if (tag !== tagEvents) {
      skipField(walk, tag);
      continue;
    }
    const end = readEnd(walk);
    const event = readEventHead({ bytes: body, at: walk.at, end });
    walk.at = end;
    if (isTerminal(event.payloadTag) && event.turnId > closed) closed = event.turnId;
  }
  return closed;
}

function keepsEvent(event: EventHead, choices: CutChoices): boolean {
  if (event.sequence <= choices.afterSequence) return false;
  if (event.payloadTag !== tagMessageDelta && event.payloadTag !== tagToolDelta) return true;
  if (choices.dropDeltas) return false;
  return event.turnId <= 0 || event.turnId > choices.closedTurn;
}

function isTerminal(tag: number): boolean {
  return tag === tagTurnDone || tag === tagTurnError || tag === tagCancelled;
}

/** Reads sequence (field 1, as in `EventPart`), payload tag and, for deltas and terminals, the turn. */
function readEventHead(walk: Walk): EventHead {
  const head: EventHead = { sequence: 0, payloadTag: 0, turnId: 0 };
  while (walk.at < walk.end) {
    const tag = readVarint(walk);
    if (tag === 8) {
      head.sequence = readVarint(walk);
    } else if (tag >= 80 && (tag & 7) === wireBytes) {
      const end = readEnd(walk);
      head.payloadTag = tag;
      head.turnId =
        tag === tagMessageDelta || tag === tagToolDelta || isTerminal(tag)
          ? readTurn({ bytes: walk.bytes, at: walk.at, end })
          : 0;
      walk.at = end;
    } else {
      skipField(walk, tag);
    }
  }
  return head;
}

/** Field 1 of a frame that starts with its turn. */
function readTurn(walk: Walk): number {
  if (walk.at >= walk.end || walk.bytes[walk.at] !== 8) return 0;
  walk.at += 1;
  return readVarint(walk);
}

function copySpans(body: Uint8Array, spans: readonly number[], bytes: number): Uint8Array {
  const copy = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let index = 0; index < spans.length; index += 2) {
    const span = body.subarray(spans[index], spans[index + 1]);
    copy.set(span, at);
    at += span.length;
  }
  return copy;
}
