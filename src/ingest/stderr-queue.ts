/** Bytes of stderr that wait for their commit, and the end of all that passed. */
export interface StderrQueue {
  /** Bytes that wait. */
  readonly bytes: number;
  /** Position behind the last byte seen. */
  readonly endOffset: number;
  /** The last bytes seen, at most `STDERR_TAIL_BYTES`. */
  readonly tail: Uint8Array;
  /** The caller may reuse `bytes`. */
  push(bytes: Uint8Array): void;
  /** The next bytes, at most `STDERR_CHUNK_BYTES`, and their position. */
  take(): { offset: number; data: Uint8Array } | undefined;
}

export const STDERR_CHUNK_BYTES = 65_536;
export const STDERR_TAIL_BYTES = 8_192;

export function createStderrQueue(startOffset: number): StderrQueue {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let endOffset = startOffset;
  let tail = Buffer.alloc(0);

  return {
    get bytes() {
      return bytes;
    },
    get endOffset() {
      return endOffset;
    },
    get tail() {
      return tail;
    },
    push(chunk) {
      if (chunk.length === 0) return;
      const owned = Buffer.from(chunk);
      waiting.push(owned);
      bytes += owned.length;
      endOffset += owned.length;
      tail = Buffer.concat([tail, owned.subarray(-STDERR_TAIL_BYTES)]).subarray(-STDERR_TAIL_BYTES);
    },
    take() {
      if (bytes === 0) return undefined;
      const all = waiting.length === 1 ? (waiting[0] as Uint8Array) : Buffer.concat(waiting);
      const data = all.subarray(0, STDERR_CHUNK_BYTES);
      const rest = all.subarray(data.length);
      const offset = endOffset - bytes;
      waiting = rest.length === 0 ? [] : [rest];
      bytes = rest.length;
      return { offset, data };
    },
  };
}
