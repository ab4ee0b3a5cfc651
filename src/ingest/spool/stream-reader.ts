import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { type SpoolStream, spoolFiles } from './layout.js';

/** Most that one read delivers. */
const maxChunkBytes = 256 * 1024;

// One for all streams: what was read is copied out before anybody else can read.
const scratch = new Uint8Array(maxChunkBytes);

/**
 * Reads one spooled stream from a byte offset on. Reads are synchronous and positioned: for a file
 * in the page cache that is several times cheaper than a turn through the thread pool. The creator
 * closes it.
 */
export class StreamReader {
  readonly stream: SpoolStream;
  readonly #fd: number;
  #offset: number;

  /** Throws the system's error if the file is missing. */
  constructor(dir: string, stream: SpoolStream, fromOffset: number) {
    this.stream = stream;
    this.#fd = openSync(join(dir, spoolFiles[stream]), 'r');
    this.#offset = fromOffset;
  }

  /** Offset of the next byte to be read. */
  get offset(): number {
    return this.#offset;
  }

  /** Bytes in the file now; less than `offset` if somebody cut it. */
  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** The next bytes before offset `end`, in memory of their own; undefined if there are none now. */
  read(end: number): Uint8Array | undefined {
    const wanted = Math.min(maxChunkBytes, end - this.#offset);
    if (wanted <= 0) return undefined;
    const count = readSync(this.#fd, scratch, 0, wanted, this.#offset);
    if (count === 0) return undefined;
    this.#offset += count;
    return scratch.slice(0, count);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
