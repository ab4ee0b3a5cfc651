import {
  batchSize,
  encodeBatches,
  encodeDraining,
  encodeNotice,
  type PlainNotice,
} from './encode-response.js';
import type { Outlet } from './outlet.js';

/** Collects batches into responses, and says something when there is nothing to say. */
export interface Outbox {
  add(body: Uint8Array): void;
  /** A response is full; `flush` before adding more. */
  isFull(): boolean;
  /** Sends what was added, if anything; undefined if more may follow at once. */
  flush(): Promise<void> | undefined;
  /** Sends a notice; nothing may be waiting to be flushed. */
  notice(notice: PlainNotice): Promise<void> | undefined;
  /** Drops what was not sent and says that the gateway goes away, with the last cursor sent. */
  draining(retryAfterMs: number): void;
  /** Stops the heartbeat. */
  close(): void;
}

/** Bytes after which a response is full: big enough for gRPC's cost a message, far below 4 MiB. */
export const responseBytes = 256 * 1024;
/** A response of full size and one event more at its end still goes as one. */
const maxResponseBytes = 1024 * 1024;

/**
 * An outbox that asks `cursor` for the place to name whenever it sends; `firstCursor` is the place before
 * anything was sent. A heartbeat is due when nothing was sent for `heartbeatMs`.
 */
export function createOutbox(
  outlet: Outlet,
  firstCursor: string,
  cursor: () => string,
  heartbeatMs: number,
): Outbox {
  let bodies: Uint8Array[] = [];
  let bytes = 0;
  let isBlocked = false;
  let lastCursor = firstCursor;
  let sentAt = performance.now();

  const write = (response: Uint8Array): Promise<void> | undefined => {
    sentAt = performance.now();
    const room = outlet.write(response);
    if (room === undefined) return undefined;
    isBlocked = true;
    return room.then(() => {
      isBlocked = false;
    });
  };
  const notify = (notice: PlainNotice): Promise<void> | undefined => {
    lastCursor = cursor();
    return write(encodeNotice(notice, lastCursor));
  };
  const flushAll = (): Promise<void> | undefined => {
    if (bodies.length === 0) return undefined;
    const sent = bodies;
    const isOne = bytes <= maxResponseBytes;
    bodies = [];
    bytes = 0;
    const after = cursor();
    if (!isOne) return flushPieces(sent, after);
    lastCursor = after;
    return write(encodeBatches(sent, after));
  };
  /** The parts of a big event: until the last piece the cursor stays where it was. */
  const flushPieces = async (sent: readonly Uint8Array[], after: string): Promise<void> => {
    let piece: Uint8Array[] = [];
    let pieceBytes = 0;
    for (const body of sent) {
      if (pieceBytes >= responseBytes) {
        await write(encodeBatches(piece, lastCursor));
        piece = [];
        pieceBytes = 0;
      }
      piece.push(body);
      pieceBytes += batchSize(body);
    }
    lastCursor = after;
    await write(encodeBatches(piece, after));
  };
  const beat = (): void => {
    const idleMs = performance.now() - sentAt;
    // A client that does not read needs no sign of life; one that is being served gets events.
    if (idleMs >= heartbeatMs && bodies.length === 0 && !isBlocked) {
      // The next write waits for room itself.
      notify('heartbeat')?.catch(ignore);
    }
    const restMs = heartbeatMs - (performance.now() - sentAt);
    timer = setTimeout(beat, Math.max(restMs, heartbeatMs / 10));
  };
  let timer = setTimeout(beat, heartbeatMs);

  return {
    add: (body) => {
      bodies.push(body);
      bytes += batchSize(body);
    },
    isFull: () => bytes >= responseBytes,
    flush: flushAll,
    notice: notify,
    draining: (retryAfterMs) => {
      bodies = [];
      outlet.write(encodeDraining(retryAfterMs, lastCursor))?.catch(ignore);
    },
    close: () => clearTimeout(timer),
  };
}

function ignore(): void {}
