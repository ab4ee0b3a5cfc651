import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  escapeToken,
  PARTITION_COUNT,
  parseSubject,
  partitionOf,
  runSubjectPrefix,
  unescapeToken,
} from '../../src/log/subject.js';

describe('a tenant as a token of a subject', () => {
  it('is one token without wildcards, blanks or control characters, and comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), (tenant) => {
        fc.pre(Buffer.byteLength(tenant) <= 64 && tenant.isWellFormed());
        const token = escapeToken(tenant);
        expect(token).toMatch(/^[A-Za-z0-9_=-]+$/);
        expect(unescapeToken(token)).toBe(tenant);
      }),
    );
  });

  it('is different for different tenants', () => {
    expect(escapeToken('a.b')).toBe('a=2Eb');
    expect(escapeToken('a=2Eb')).toBe('a=3D2Eb');
    expect(escapeToken('*')).not.toBe(escapeToken('>'));
  });

  it.each(['', 'x'.repeat(65), '\ud800'])('is refused if it is %j', (tenant) => {
    expect(() => escapeToken(tenant)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it.each(['', 'a.b', '*', '=2e', '=4', '=41', 'a b'])('is not %j, which nobody wrote', (token) => {
    expect(() => unescapeToken(token)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST' }),
    );
  });
});

describe('a partition', () => {
  it('is FNV-1a of the key, modulo 64', () => {
    // The published 32-bit vectors of FNV-1a.
    expect(partitionOf('')).toBe(0x811c9dc5 % PARTITION_COUNT);
    expect(partitionOf('a')).toBe(0xe40c292c % PARTITION_COUNT);
    expect(partitionOf('foobar')).toBe(0xbf9cf968 % PARTITION_COUNT);
  });
});

describe('a subject', () => {
  it('names tenant, partition, run and class, and is read back', () => {
    const runId = '0199c2f0-7a11-7000-8000-000000000001';
    const prefix = runSubjectPrefix({ tenant: 'a.b', partition: 7, runId });
    expect(prefix).toBe(`hep.event.v1.a=2Eb.7.${runId}`);
    expect(parseSubject(`${prefix}.step`)).toEqual({
      tenantToken: 'a=2Eb',
      partition: 7,
      runId,
      class: 'step',
    });
    expect(parseSubject(`${prefix}.other`)).toBeUndefined();
    expect(parseSubject(prefix)).toBeUndefined();
  });
});
