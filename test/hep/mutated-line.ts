import fc from 'fast-check';
import { canonicalText } from '../../src/hep/canonical-text.js';
import { frame, hotFrame, hotInteger } from './frame-arbitrary.js';

/** One cut of a line: `removed` bytes at `place` (0 to 1 of the length) give way to `inserted`. */
const edit = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat({ max: 3 }),
  inserted: fc.oneof(
    fc.uint8Array({ maxLength: 3 }),
    fc
      .constantFrom(
        ' ',
        '"',
        '\\',
        '\\u',
        '\\ud83d',
        '\\ude00',
        '\\/',
        '\\u0041',
        '\\u000A',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '-',
        '.',
        'e9',
        'null',
        '"turn_id":1,',
        '"delta":"x",',
        '\u2028',
        '\ufeff',
      )
      .map((text) => Buffer.from(text)),
  ),
});

function applyEdit(
  line: Buffer,
  { place, removed, inserted }: typeof edit extends fc.Arbitrary<infer Edit> ? Edit : never,
): Buffer {
  const at = Math.floor(place * line.length);
  return Buffer.concat([line.subarray(0, at), inserted, line.subarray(at + removed)]);
}

/** Canonical lines of every type, edited up to three times; some stay as they are. */
export const mutatedLine: fc.Arbitrary<Buffer> = fc
  .tuple(fc.oneof(frame, hotFrame(hotInteger)), fc.array(edit, { maxLength: 3 }))
  .map(([payload, edits]) =>
    edits.reduce(applyEdit, Buffer.from(canonicalText(payload) ?? new Uint8Array())),
  );
