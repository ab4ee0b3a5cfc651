import { expect, test } from 'vitest';
import { isBlank } from '../../src/hep/is-blank.js';

test.each(['', ' ', '\t', '\r', ' \t\r \r'])('%j is blank', (text) => {
  const bytes = Buffer.from(`x${text}x`);
  expect(isBlank(bytes, 1, bytes.length - 1)).toBe(true);
});

test.each(['x', ' x', '\f', '\v', '\0', '\u00a0', '\ufeff', '\u2028', '\n'])(
  '%j is not blank',
  (text) => {
    const bytes = Buffer.from(text);
    expect(isBlank(bytes, 0, bytes.length)).toBe(false);
  },
);
