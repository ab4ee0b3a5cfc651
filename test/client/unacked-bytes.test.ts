import { describe, expect, it } from 'vitest';
import { createUnackedBytes } from '../../src/client/unacked-bytes.js';

function readAll(bytes: ReturnType<typeof createUnackedBytes>, from: number): string {
  let text = '';
  for (let at = from; at < bytes.end; ) {
    const piece = bytes.read(at, 7);
    text += Buffer.from(piece).toString();
    at += piece.length;
  }
  return text;
}

describe('unacked bytes', () => {
  for (const [place, memoryBytes] of [
    ['memory', 1_000_000],
    ['a file', 16],
  ] as const) {
    it(`are given again from any offset, from ${place}`, () => {
      const bytes = createUnackedBytes(memoryBytes);
      let whole = '';
      for (let at = 0; at < 100; at++) {
        whole += `line ${at}\n`;
        bytes.push(Buffer.from(`line ${at}\n`));
      }
      for (const from of [0, 1, 33, whole.length - 1, whole.length]) {
        bytes.forget(from);
        expect(bytes.start).toBe(from);
        expect(readAll(bytes, from)).toBe(whole.slice(from));
      }
      bytes.push(Buffer.from('more'));
      expect(readAll(bytes, whole.length)).toBe('more');
      expect(bytes.holdsLine).toBe(false);
      bytes.close();
    });
  }
});
