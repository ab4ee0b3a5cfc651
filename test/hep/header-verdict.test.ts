import { describe, expect, test } from 'vitest';
import { decodeLine } from '../../src/hep/decode-line.js';
import { headerVerdict } from '../../src/hep/header-verdict.js';

function verdictOf(line: string): string {
  const decoded = decodeLine(Buffer.from(line));
  return decoded.kind === 'frame' ? headerVerdict(decoded.payload) : decoded.detail;
}

function header(hep: string): string {
  return `{"type":"hep_header","hep":${hep},"fah":"1.0.0","session":"s1"}`;
}

describe('header rule', () => {
  test.each(['"v1"', '"v1.0"', '"v1.12"', '"v1.007"', String.raw`"\u00761"`])(
    '%s is accepted',
    (hep) => {
      expect(verdictOf(header(hep))).toBe('ACCEPTED');
    },
  );

  test.each([
    '"v2"',
    '"v10"',
    '"v1."',
    '"v1.x"',
    '"v1.1.1"',
    '"V1"',
    '"v1\\n"',
    '" v1"',
    '"v1 "',
    '"1"',
    '""',
    '"v1.١"',
    '1',
    'null',
    'true',
    '["v1"]',
  ])('%s is another major', (hep) => {
    expect(verdictOf(header(hep))).toBe('HEADER_UNSUPPORTED');
  });

  test('a header without hep is another major', () => {
    expect(verdictOf('{"type":"hep_header"}')).toBe('HEADER_UNSUPPORTED');
  });

  test('a header with more keys in another order is accepted', () => {
    expect(verdictOf('{"session":"s","x":1,"hep":"v1","type":"hep_header"}')).toBe('ACCEPTED');
  });

  test('a first frame of another type, known or not, is a missing header', () => {
    expect(verdictOf('{"type":"agent_start","turn_id":1}')).toBe('HEADER_MISSING');
    expect(verdictOf('{"type":"hep_header2","hep":"v1"}')).toBe('HEADER_MISSING');
  });
});
