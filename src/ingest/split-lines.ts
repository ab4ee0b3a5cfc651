import { createHash, type Hash } from 'node:crypto';

/** A line beyond the limit, as far as it is kept. */
export interface OversizeLineFacts {
  /** Length without 0x0A. */
  readonly lineBytes: number;
  /** Of the whole line; empty if its beginning was not seen. */
  readonly sha256: Uint8Array;
  /** First bytes, at most `OVERSIZE_PREFIX_BYTES`. */
  readonly prefix: Uint8Array;
}

/** Takes lines in source order. Bytes are only valid during the call. */
export interface LineSink {
  /**
   * One line: `source` from `start` (inclusive) to `end` (exclusive), without its 0x0A. `endOffset`
   * is the position in the source behind the line and its 0x0A. `terminated` is false only for a
   * last line that the source did not end with 0x0A.
   */
  line(
    source: Uint8Array,
    start: number,
    end: number,
    endOffset: number,
    terminated: boolean,
  ): void;
  oversize(facts: OversizeLineFacts, endOffset: number, terminated: boolean): void;
}

export interface LineSplitter {
  /** Bytes of the source seen so far, from its beginning. */
  readonly offset: number;
  /** Bytes of an unfinished line that are held in memory. */
  readonly heldBytes: number;
  /** True while the bytes of a line over the limit pass by. */
  readonly insideOversizeLine: boolean;
  /** Takes the next bytes of the source; `chunk` may be reused after the call. */
  push(chunk: Uint8Array): void;
  /** The source is at its end: hands over what stands behind the last 0x0A, if anything. */
  end(): void;
}

export const OVERSIZE_PREFIX_BYTES = 4_096;
const LF = 0x0a;
const INITIAL_CARRY_BYTES = 4_096;
const KEPT_CARRY_BYTES = 65_536;
const NO_BYTES = new Uint8Array(0);

/**
 * Splits bytes at 0x0A alone, in time linear in the bytes however they are cut. Holds at most one
 * unfinished line of `maxLineBytes`; beyond it a line is only counted and hashed.
 */
export function createLineSplitter(
  sink: LineSink,
  maxLineBytes: number,
  startOffset = 0,
): LineSplitter {
  let offset = startOffset;
  let carry = NO_BYTES;
  let carried = 0;
  let oversize: { hash: Hash; prefix: Uint8Array; lineBytes: number } | undefined;

  function hold(source: Uint8Array, start: number, end: number): void {
    const needed = carried + end - start;
    if (needed > carry.length) {
      const grown = new Uint8Array(Math.max(needed, carry.length * 2, INITIAL_CARRY_BYTES));
      grown.set(carry.subarray(0, carried));
      carry = grown;
    }
    carry.set(source.subarray(start, end), carried);
    carried = needed;
  }

  function release(): void {
    carried = 0;
    if (carry.length > KEPT_CARRY_BYTES) carry = NO_BYTES;
  }

  function overflow(source: Uint8Array, start: number, end: number): void {
    const rest = source.subarray(start, end);
    if (oversize === undefined) {
      const held = carry.subarray(0, carried);
      const prefix = held.slice(0, OVERSIZE_PREFIX_BYTES);
      oversize = { hash: createHash('sha256').update(held), prefix, lineBytes: carried };
      release();
    }
    if (oversize.prefix.length < OVERSIZE_PREFIX_BYTES) {
      const more = rest.subarray(0, OVERSIZE_PREFIX_BYTES - oversize.prefix.length);
      oversize.prefix = Buffer.concat([oversize.prefix, more]);
    }
    oversize.hash.update(rest);
    oversize.lineBytes += rest.length;
  }

  function finish(source: Uint8Array, start: number, end: number, terminated: boolean): void {
    if (oversize !== undefined || carried + end - start > maxLineBytes) {
      overflow(source, start, end);
      const { hash, prefix, lineBytes } = oversize as NonNullable<typeof oversize>;
      oversize = undefined;
      sink.oversize({ lineBytes, sha256: hash.digest(), prefix }, offset, terminated);
    } else if (carried === 0) {
      sink.line(source, start, end, offset, terminated);
    } else {
      hold(source, start, end);
      const length = carried;
      sink.line(carry, 0, length, offset, terminated);
      release();
    }
  }

  return {
    get offset() {
      return offset;
    },
    get heldBytes() {
      return carried;
    },
    get insideOversizeLine() {
      return oversize !== undefined;
    },
    push(chunk) {
      let start = 0;
      for (;;) {
        const lineFeed = chunk.indexOf(LF, start);
        if (lineFeed < 0) break;
        offset += lineFeed + 1 - start;
        finish(chunk, start, lineFeed, true);
        start = lineFeed + 1;
      }
      if (start === chunk.length) return;
      offset += chunk.length - start;
      if (oversize !== undefined || carried + chunk.length - start > maxLineBytes) {
        overflow(chunk, start, chunk.length);
      } else {
        hold(chunk, start, chunk.length);
      }
    },
    end() {
      if (carried > 0 || oversize !== undefined) finish(NO_BYTES, 0, 0, false);
    },
  };
}
