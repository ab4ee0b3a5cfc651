import { skipNumber } from './skip-number.js';
import { skipString } from './skip-string.js';
import { skipWhitespace } from './skip-whitespace.js';

const OBJECT = 1;
const ARRAY = 2;
const KEPT_STACK_BYTES = 4096;

/** Open containers of the value being skipped; a stack of its own, so that no depth overflows. */
let stack = new Uint8Array(64);

/**
 * Position after the JSON value that starts at `at` (whitespace already skipped); `~offset`
 * (negative) of the first byte that cannot continue it, `~end` if the text stops inside.
 * Linear in time; memory is a byte a level of nesting.
 */
export function skipValue(bytes: Uint8Array, at: number, end: number): number {
  const next = skipNested(bytes, at, end);
  if (stack.length > KEPT_STACK_BYTES) stack = new Uint8Array(64);
  return next;
}

function skipNested(bytes: Uint8Array, at: number, end: number): number {
  let depth = 0;
  let next = at;
  for (;;) {
    const byte = next < end ? bytes[next] : undefined;
    if (byte === 0x7b || byte === 0x5b) {
      const inner = skipWhitespace(bytes, next + 1, end);
      if (inner < end && bytes[inner] === (byte === 0x7b ? 0x7d : 0x5d)) {
        next = inner + 1;
      } else {
        push(depth++, byte === 0x7b ? OBJECT : ARRAY);
        next = byte === 0x7b ? skipKey(bytes, inner, end) : inner;
        if (next < 0) return next;
        continue;
      }
    } else {
      next = skipScalar(bytes, next, end);
      if (next < 0) return next;
    }
    // A value ended: close what ends with it, up to the next comma.
    for (;;) {
      if (depth === 0) return next;
      next = skipWhitespace(bytes, next, end);
      if (next >= end) return ~end;
      const inObject = stack[depth - 1] === OBJECT;
      if (bytes[next] === 0x2c) {
        next = skipWhitespace(bytes, next + 1, end);
        if (inObject) next = skipKey(bytes, next, end);
        if (next < 0) return next;
        break;
      }
      if (bytes[next] !== (inObject ? 0x7d : 0x5d)) return ~next;
      next++;
      depth--;
    }
  }
}

/** Position of the value that belongs to the key at `at`. */
export function skipKey(bytes: Uint8Array, at: number, end: number): number {
  const afterKey = skipString(bytes, at, end);
  if (afterKey < 0) return afterKey;
  const colon = skipWhitespace(bytes, afterKey, end);
  if (colon >= end || bytes[colon] !== 0x3a) return ~colon;
  return skipWhitespace(bytes, colon + 1, end);
}

function skipScalar(bytes: Uint8Array, at: number, end: number): number {
  switch (at < end ? bytes[at] : undefined) {
    case 0x22:
      return skipString(bytes, at, end);
    case 0x74:
      return skipWord(bytes, at, end, 'true');
    case 0x66:
      return skipWord(bytes, at, end, 'false');
    case 0x6e:
      return skipWord(bytes, at, end, 'null');
    default:
      return skipNumber(bytes, at, end);
  }
}

function skipWord(bytes: Uint8Array, at: number, end: number, word: string): number {
  for (let index = 0; index < word.length; index++) {
    if (at + index >= end || bytes[at + index] !== word.charCodeAt(index)) return ~(at + index);
  }
  return at + word.length;
}

function push(depth: number, container: number): void {
  if (depth === stack.length) {
    const larger = new Uint8Array(depth * 2);
    larger.set(stack);
    stack = larger;
  }
  stack[depth] = container;
}
