/**
 * Text that Dart prints for a finite double: shortest digits that give it back, as in ECMAScript,
 * but always with a point or an exponent (`0.0`, `-0.0`, `1e-7`, `100000000000000000000.0`, `1e+21`).
 */
export function dartDouble(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return text.includes('.') || text.includes('e') ? text : `${text}.0`;
}
