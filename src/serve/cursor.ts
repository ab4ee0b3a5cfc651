import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { BridgeError } from '../errors.js';

/** What a cursor says once it is known to be ours. */
interface CursorPlace {
  /** All selected messages up to this stream sequence, inclusive, were delivered. */
  readonly streamSequence: number;
  /** Last event sequence delivered of a run; undefined if unknown or for a filter. */
  readonly eventSequence: number | undefined;
}

/** Makes and reads the cursors of one target with one set of choices. */
export interface CursorBook {
  /** Opaque ASCII, 64 characters. */
  write(place: CursorPlace): string;
  /**
   * Fails with `CURSOR_INVALID` for what this bridge did not make for this target and these choices,
   * `STREAM_RECREATED` if it is of another stream.
   */
  read(cursor: string): CursorPlace;
}

const version = 1;
const offsetIdentity = 1;
const offsetTarget = 9;
const offsetStream = 21;
const offsetEvent = 28;
const offsetMac = 35;
const cursorBytes = 48;
const macBytes = cursorBytes - offsetMac;

/**
 * Cursors for the target that `description` names (any text that differs when tenant, target or
 * choices differ) in the stream `identity`. `key` is the same on all gateways of one log.
 */
export function createCursorBook(
  key: Uint8Array,
  identity: string,
  description: string,
): CursorBook {
  const head = Buffer.alloc(offsetStream);
  head[0] = version;
  head.set(digest(identity).subarray(0, offsetTarget - offsetIdentity), offsetIdentity);
  head.set(digest(description).subarray(0, offsetStream - offsetTarget), offsetTarget);
  return {
    write: (place) => writeCursor(key, head, place),
    read: (cursor) => readCursor(key, head, cursor),
  };
}

function writeCursor(key: Uint8Array, head: Buffer, place: CursorPlace): string {
  const bytes = Buffer.allocUnsafe(cursorBytes);
  bytes.set(head, 0);
  writeUint56(bytes, offsetStream, place.streamSequence);
  writeUint56(bytes, offsetEvent, place.eventSequence === undefined ? 0 : place.eventSequence + 1);
  bytes.set(macOf(key, bytes), offsetMac);
  return bytes.toString('base64url');
}

function readCursor(key: Uint8Array, head: Buffer, cursor: string): CursorPlace {
  const bytes = Buffer.from(cursor, 'base64url');
  const isOurs =
    bytes.length === cursorBytes &&
    bytes.toString('base64url') === cursor &&
    bytes[0] === version &&
    timingSafeEqual(macOf(key, bytes), bytes.subarray(offsetMac));
  if (!isOurs) throw invalid('it was not made by this bridge, or was altered');
  if (!sameSpan(bytes, head, offsetTarget, offsetStream)) {
    throw invalid('it belongs to another target or to other choices');
  }
  if (!sameSpan(bytes, head, offsetIdentity, offsetTarget)) {
    throw new BridgeError(
      'STREAM_RECREATED',
      'the log was deleted and made again since this cursor was given; start from the beginning',
    );
  }
  const event = readUint56(bytes, offsetEvent);
  return {
    streamSequence: readUint56(bytes, offsetStream),
    eventSequence: event === 0 ? undefined : event - 1,
  };
}

function invalid(why: string): BridgeError {
  const text = `the cursor is not valid here: ${why}; start from a sequence instead`;
  return new BridgeError('CURSOR_INVALID', text, {
    fields: [{ field: 'cursor', description: why }],
  });
}

function macOf(key: Uint8Array, bytes: Buffer): Buffer {
  return createHmac('sha256', key)
    .update(bytes.subarray(0, offsetMac))
    .digest()
    .subarray(0, macBytes);
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function sameSpan(left: Buffer, right: Buffer, start: number, end: number): boolean {
  return left.compare(right, start, end, start, end) === 0;
}

function writeUint56(bytes: Buffer, at: number, value: number): void {
  bytes[at] = Math.floor(value / 2 ** 48);
  bytes.writeUIntBE(value % 2 ** 48, at + 1, 6);
}

function readUint56(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) * 2 ** 48 + bytes.readUIntBE(at + 1, 6);
}
