import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDouble } from '../../src/hep/parse-double.js';
import { parseInt64 } from '../../src/hep/parse-int64.js';

function int64Of(text: string): bigint | undefined {
  const bytes = Buffer.from(`x${text}x`);
  return parseInt64(bytes, 1, bytes.length - 1);
}

function doubleOf(text: string): number | undefined {
  const bytes = Buffer.from(`1${text}1`);
  return parseDouble(bytes, 1, bytes.length - 1);
}

/** Parts of a JSON number: sign, whole, fraction, exponent. */
const parts = fc.record({
  sign: fc.constantFrom('', '-'),
  whole: fc.oneof(
    fc.bigInt(0n, 10n ** 22n),
    fc.bigInt(0n, 99n),
    fc.constantFrom(2n ** 63n, 2n ** 63n - 1n),
  ),
  fraction: fc.oneof(
    fc.constant(''),
    fc.string({ unit: fc.constantFrom(...'0000123456789'), minLength: 1, maxLength: 24 }),
    fc.nat({ max: 30 }).map((count) => '0'.repeat(count + 1)),
  ),
  exponent: fc.option(fc.integer({ min: -45, max: 45 }), { nil: undefined }),
});

describe('number rules', () => {
  test('an integer is what is exactly one and fits int64, however it is written', () => {
    fc.assert(
      fc.property(parts, ({ sign, whole, fraction, exponent }) => {
        const text = `${sign}${whole}${fraction && '.'}${fraction}${exponent === undefined ? '' : `e${exponent}`}`;
        // value = digits * 10^(scale - 100), by exact integers
        const digits =
          BigInt(`${whole}${fraction}`) * 10n ** BigInt(100 + (exponent ?? 0) - fraction.length);
        const unit = 10n ** 100n;
        const value = (sign === '-' ? -1n : 1n) * (digits / unit);
        const fits = digits % unit === 0n && BigInt.asIntN(64, value) === value;
        expect(int64Of(text)).toBe(fits ? value : undefined);
      }),
      { numRuns: 3000 },
    );
  });

  test('huge exponents and digits cost nothing and are exact', () => {
    const million = '0'.repeat(1_000_000);
    expect(int64Of(`1e${'9'.repeat(1_000_000)}`)).toBeUndefined();
    expect(int64Of(`1e-${'9'.repeat(1_000_000)}`)).toBeUndefined();
    expect(int64Of(`0e${'9'.repeat(1_000_000)}`)).toBe(0n);
    expect(int64Of(`0.${million}5e1000001`)).toBe(5n);
    expect(int64Of(`5${million}e-1000000`)).toBe(5n);
    expect(int64Of(`5.${million}`)).toBe(5n);
    expect(int64Of(`5.${million}1`)).toBeUndefined();
    expect(int64Of(`-7e${million}1`)).toBe(-70n);
  });

  test('a price is the nearest double, as Number reads it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(doubleOf(Object.is(value, -0) ? '-0' : String(value))).toBe(value);
      }),
    );
    // Halfway between two doubles but for the last digit.
    expect(doubleOf('9007199254740993')).toBe(9007199254740992);
    expect(doubleOf(`9007199254740993.${'0'.repeat(900)}1`)).toBe(9007199254740994);
    expect(doubleOf(`0.${'0'.repeat(150_000)}5e150001`)).toBe(5);
  });

  test('a price beyond the doubles is none, one below them is zero with its sign', () => {
    expect(doubleOf('1e400')).toBeUndefined();
    expect(doubleOf('-1.7976931348623159e308')).toBeUndefined();
    expect(doubleOf('1e-400')).toBe(0);
    expect(doubleOf('-1e-400')).toBe(-0);
    expect(doubleOf('-0')).toBe(-0);
  });
});
