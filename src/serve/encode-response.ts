import { varintSize, writeVarint } from '../ingest/wire.js';

/** A notice without content of its own. */
export type PlainNotice = 'caughtUp' | 'fellBehind' | 'heartbeat';

const tagBatches = 0x0a;
const tagCursor = 0x12;
const tagOfNotice: Readonly<Record<PlainNotice, number>> = {
  caughtUp: 0x1a,
  fellBehind: 0x22,
  heartbeat: 0x2a,
};
const tagDraining = 0x32;

/** Bytes that a body takes in a response. */
export function batchSize(body: Uint8Array): number {
  return 1 + varintSize(body.length) + body.length;
}

/** A serialized `SubscribeResponse` with `bodies` as they are and an ASCII `cursor`. */
export function encodeBatches(bodies: readonly Uint8Array[], cursor: string): Buffer {
  let size = 0;
  for (const body of bodies) size += batchSize(body);
  const response = Buffer.allocUnsafe(size + cursorSize(cursor));
  let at = 0;
  for (const body of bodies) {
    response[at] = tagBatches;
    at = writeVarint(response, at + 1, body.length);
    response.set(body, at);
    at += body.length;
  }
  writeCursor(response, at, cursor);
  return response;
}

/** A serialized `SubscribeResponse` with a notice. */
export function encodeNotice(notice: PlainNotice, cursor: string): Buffer {
  const response = Buffer.allocUnsafe(cursorSize(cursor) + 2);
  const at = writeCursor(response, 0, cursor);
  response[at] = tagOfNotice[notice];
  response[at + 1] = 0;
  return response;
}

/** A serialized `SubscribeResponse` with `Draining`; `retryAfterMs` is a whole number below 2^31. */
export function encodeDraining(retryAfterMs: number, cursor: string): Buffer {
  const seconds = Math.floor(retryAfterMs / 1000);
  const nanos = (retryAfterMs % 1000) * 1_000_000;
  const durationSize = 2 + varintSize(seconds) + varintSize(nanos);
  const response = Buffer.allocUnsafe(cursorSize(cursor) + 4 + durationSize);
  let at = writeCursor(response, 0, cursor);
  response[at++] = tagDraining;
  response[at++] = durationSize + 2;
  response[at++] = 0x0a;
  response[at++] = durationSize;
  response[at++] = 0x08;
  at = writeVarint(response, at, seconds);
  response[at++] = 0x10;
  writeVarint(response, at, nanos);
  return response;
}

function cursorSize(cursor: string): number {
  return cursor === '' ? 0 : 1 + varintSize(cursor.length) + cursor.length;
}

function writeCursor(target: Buffer, at: number, cursor: string): number {
  if (cursor === '') return at;
  target[at] = tagCursor;
  const start = writeVarint(target, at + 1, cursor.length);
  return start + target.write(cursor, start, 'latin1');
}
