import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes of one pipe that may have to be sent again, by their position in the pipe. */
export interface UnackedBytes {
  /** Position of the first byte that is kept. */
  readonly start: number;
  /** Position behind the last byte that was given. */
  readonly end: number;
  /** Whether a whole line is kept, so that an ack is to come. */
  readonly holdsLine: boolean;
  /** Keeps a copy. */
  push(bytes: Uint8Array): void;
  /** At most `maxBytes` from `offset` on, which is in [start, end]. */
  read(offset: number, maxBytes: number): Uint8Array;
  /** Forgets what stands before `offset`. */
  forget(offset: number): void;
  /** Removes the file, if one was made. */
  close(): void;
}

/** Bytes in a buffer that may have room for more. */
interface Piece {
  readonly offset: number;
  readonly buffer: Uint8Array;
  length: number;
}

const LF = 0x0a;
const pieceBytes = 16_384;

/**
 * Keeps `memoryBytes` in memory; beyond that (one line may be longer than any limit here) all goes to a
 * temporary file until everything in it is acknowledged.
 */
export function createUnackedBytes(memoryBytes: number): UnackedBytes {
  let pieces: Piece[] = [];
  let file: { readonly fd: number; readonly base: number } | undefined;
  let start = 0;
  let end = 0;
  let lineEnd = 0;

  function spill(): void {
    const dir = mkdtempSync(join(tmpdir(), 'hep-unacked-'));
    const fd = openSync(join(dir, 'bytes'), 'w+', 0o600);
    // Gone from the file system at once; it lives as long as the descriptor.
    rmSync(dir, { recursive: true });
    file = { fd, base: pieces[0]?.offset ?? end };
    for (const { offset, buffer, length } of pieces) {
      writeAll(fd, buffer.subarray(0, length), offset - file.base);
    }
    pieces = [];
  }

  function unspill(): void {
    if (file === undefined) return;
    ftruncateSync(file.fd, 0);
    closeSync(file.fd);
    file = undefined;
  }

  /** An agent that writes byte for byte must not make a piece of each. */
  function hold(bytes: Uint8Array): void {
    let last = pieces.at(-1);
    if (last === undefined || last.length + bytes.length > last.buffer.length) {
      const buffer = new Uint8Array(Math.max(pieceBytes, bytes.length));
      last = { offset: end, buffer, length: 0 };
      pieces.push(last);
    }
    last.buffer.set(bytes, last.length);
    last.length += bytes.length;
  }

  return {
    get start() {
      return start;
    },
    get end() {
      return end;
    },
    get holdsLine() {
      return lineEnd > start;
    },
    push(bytes) {
      if (bytes.length === 0) return;
      if (file === undefined && end + bytes.length - start > memoryBytes) spill();
      if (file === undefined) hold(bytes);
      else writeAll(file.fd, bytes, end - file.base);
      const lineFeed = bytes.lastIndexOf(LF);
      if (lineFeed >= 0) lineEnd = end + lineFeed + 1;
      end += bytes.length;
    },
    read(offset, maxBytes) {
      if (file !== undefined) {
        const bytes = new Uint8Array(Math.min(maxBytes, end - offset));
        readSync(file.fd, bytes, 0, bytes.length, offset - file.base);
        return bytes;
      }
      const piece = pieces.find((one) => one.offset + one.length > offset);
      if (piece === undefined) return new Uint8Array(0);
      const from = offset - piece.offset;
      return piece.buffer.subarray(from, Math.min(from + maxBytes, piece.length));
    },
    forget(offset) {
      start = Math.max(start, Math.min(offset, end));
      let done = 0;
      for (const { offset: at, length } of pieces) {
        if (at + length > start) break;
        done += 1;
      }
      pieces.splice(0, done);
      if (start === end) unspill();
    },
    close: unspill,
  };
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}
