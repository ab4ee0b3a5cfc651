import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter, OVERSIZE_PREFIX_BYTES } from '../../src/ingest/split-lines.js';

interface Seen {
  readonly text?: string;
  readonly oversize?: { lineBytes: number; sha256: string; prefix: number };
  readonly endOffset: number;
  readonly terminated: boolean;
}

function split(chunks: readonly Uint8Array[], maxLineBytes = 1_000): Seen[] {
  const seen: Seen[] = [];
  const splitter = createLineSplitter(
    {
      line: (source, start, end, endOffset, terminated) =>
        seen.push({
          text: Buffer.from(source.subarray(start, end)).toString('latin1'),
          endOffset,
          terminated,
        }),
      oversize: ({ lineBytes, sha256, prefix }, endOffset, terminated) =>
        seen.push({
          oversize: {
            lineBytes,
            sha256: Buffer.from(sha256).toString('hex'),
            prefix: prefix.length,
          },
          endOffset,
          terminated,
        }),
    },
    maxLineBytes,
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return seen;
}

describe('splitting lines', () => {
  it('gives the same lines wherever the bytes are cut', () => {
    const stream = readFileSync(
      new URL('../golden/streams/34-split-everywhere.jsonl', import.meta.url),
    );
    const whole = split([stream]);
    expect(whole).toHaveLength(3);
    for (let cut = 1; cut < stream.length; cut += 1) {
      expect(split([stream.subarray(0, cut), stream.subarray(cut)])).toEqual(whole);
    }
    expect(split([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it('splits at 0x0A alone, not at CR, U+2028, U+2029 or U+0085', () => {
    const text = 'a\r\nb\u2028c\u2029d\u0085e\n';
    const lines = split([Buffer.from(text)]);
    expect(lines.map((line) => line.text)).toEqual([
      'a\r',
      Buffer.from('b\u2028c\u2029d\u0085e').toString('latin1'),
    ]);
  });

  it('hands over a last line without 0x0A as not terminated, and nothing after a final 0x0A', () => {
    expect(split([Buffer.from('a\nbc')])).toEqual([
      { text: 'a', endOffset: 2, terminated: true },
      { text: 'bc', endOffset: 4, terminated: false },
    ]);
    expect(split([Buffer.from('a\n')])).toHaveLength(1);
  });

  it('keeps every byte and offset for any content and any cuts', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
        const lines = split(chunks);
        const rebuilt = lines.map(({ text, terminated }) => `${text}${terminated ? '\n' : ''}`);
        const source = Buffer.concat(chunks);
        expect(rebuilt.join('')).toBe(source.toString('latin1'));
        expect(lines.at(-1)?.endOffset ?? 0).toBe(source.length);
      }),
    );
  });

  it('counts and hashes a line over the limit, keeps its first 4 KiB, and goes on behind it', () => {
    const long = Buffer.alloc(10_000, 'x');
    const sha256 = createHash('sha256').update(long).digest('hex');
    for (const size of [1, 999, 1_000, 1_001, 4_096, 10_000]) {
      const chunks = [];
      const source = Buffer.concat([long, Buffer.from('\nnext\n')]);
      for (let at = 0; at < source.length; at += size) chunks.push(source.subarray(at, at + size));
      expect(split(chunks)).toEqual([
        {
          oversize: { lineBytes: 10_000, sha256, prefix: OVERSIZE_PREFIX_BYTES },
          endOffset: 10_001,
          terminated: true,
        },
        { text: 'next', endOffset: 10_006, terminated: true },
      ]);
    }
  });

  it('takes a line of exactly the limit whole', () => {
    const [line] = split([Buffer.alloc(1_000, 'x'), Buffer.from('\n')]);
    expect(line?.text).toHaveLength(1_000);
  });

  it('holds no more than the limit while an endless line passes by', () => {
    const splitter = createLineSplitter(
      { line: () => undefined, oversize: () => undefined },
      100_000,
    );
    const chunk = Buffer.alloc(65_536, 'x');
    for (let i = 0; i < 100; i += 1) {
      splitter.push(chunk);
      expect(splitter.heldBytes).toBeLessThanOrEqual(100_000);
    }
    expect(splitter.insideOversizeLine).toBe(true);
  });
});
