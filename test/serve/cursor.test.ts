import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCursorBook } from '../../src/serve/cursor.js';

const key = Buffer.alloc(32, 7);
const book = createCursorBook(key, 'stream-a', '["default",{"runId":"r"}]');

const anyPlace = fc.record({
  streamSequence: fc.nat(Number.MAX_SAFE_INTEGER),
  eventSequence: fc.option(fc.nat(Number.MAX_SAFE_INTEGER - 1), { nil: undefined }),
});

test('a cursor gives back the place it was made for', () => {
  fc.assert(
    fc.property(anyPlace, (place) => {
      const cursor = book.write(place);
      expect(book.read(cursor)).toEqual(place);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]{64}$/);
    }),
  );
});

test('a cursor with any character altered, added or left out is CURSOR_INVALID', () => {
  const cursor = book.write({ streamSequence: 12_345, eventSequence: 678 });
  fc.assert(
    fc.property(
      fc.nat(cursor.length - 1),
      fc.constantFrom('A', 'z', '0', '_', '=', ' ', ''),
      (at, by) => {
        const altered = cursor.slice(0, at) + by + cursor.slice(at + 1);
        if (altered === cursor) return;
        expect(() => book.read(altered)).toThrow(
          expect.objectContaining({ code: 'CURSOR_INVALID' }),
        );
      },
    ),
  );
});

test('any other text is CURSOR_INVALID', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 200 }), fc.base64String()), (text) => {
      expect(() => book.read(text)).toThrow(expect.objectContaining({ code: 'CURSOR_INVALID' }));
    }),
  );
});

test('a cursor of another key or another target is CURSOR_INVALID', () => {
  const place = { streamSequence: 5, eventSequence: undefined };
  const otherKey = createCursorBook(Buffer.alloc(32, 8), 'stream-a', '["default",{"runId":"r"}]');
  const otherTarget = createCursorBook(key, 'stream-a', '["tenant",{"runId":"r"}]');
  for (const other of [otherKey, otherTarget]) {
    expect(() => book.read(other.write(place))).toThrow(
      expect.objectContaining({ code: 'CURSOR_INVALID' }),
    );
  }
});

test('a cursor of a stream that was made again is STREAM_RECREATED', () => {
  const other = createCursorBook(key, 'stream-b', '["default",{"runId":"r"}]');
  const cursor = other.write({ streamSequence: 5, eventSequence: 3 });
  expect(() => book.read(cursor)).toThrow(expect.objectContaining({ code: 'STREAM_RECREATED' }));
});
