import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createStreamChecker, type Finding, type StreamCheck } from '../../src/cli/check-stream.js';
import { runCli, streamsDir } from './cli.js';

function check(name: string): { findings: Finding[]; result: StreamCheck } {
  const findings: Finding[] = [];
  const checker = createStreamChecker((finding) => findings.push(finding));
  checker.push(readFileSync(join(streamsDir, `${name}.jsonl`)));
  return { findings, result: checker.end() };
}

const faulty: Readonly<Record<string, readonly string[]>> = {
  '10-cut-mid-frame': ['3 TRUNCATED', '3 NO_TERMINAL'],
  '16a-v2': ['1 HEADER_UNSUPPORTED'],
  '16b-v10': ['1 HEADER_UNSUPPORTED'],
  '16g-header-missing': ['1 HEADER_MISSING'],
  '16i-header-twice': ['3 ORDER'],
  '18-big-integers': ['3 OUT_OF_RANGE'],
  '31b-late-frames-after-cancelled': ['4 ORDER', '5 ORDER'],
  '32-no-terminal-exit0': ['4 NO_TERMINAL'],
};
const manyFindings = ['11-noise', '12-json-not-frame', '19-number-forms'];

describe('check', () => {
  for (const [name, expected] of Object.entries(faulty)) {
    it(`finds what is wrong with ${name}, by line number`, () => {
      const errors = check(name).findings.filter(({ severity }) => severity === 'error');
      expect(errors.map(({ line, rule }) => `${line} ${rule}`)).toEqual(
        expect.arrayContaining([...expected]),
      );
    });
  }

  it('finds nothing wrong with the other golden streams', () => {
    for (const file of readdirSync(streamsDir)) {
      const name = file.replace('.jsonl', '');
      if (name === file || name in faulty || manyFindings.includes(name)) continue;
      expect(check(name).result.verdict, name).toBe('valid');
    }
  });

  it('notes blank lines without counting them', () => {
    const { findings, result } = check('07-crlf-and-blank');
    expect(findings.map(({ severity }) => severity)).toEqual(['note', 'note', 'note']);
    expect(result).toEqual({ verdict: 'valid', lines: 7, frames: 4, errors: 0 });
  });

  it('exits with 0, 1 or 2', async () => {
    const codes = ['01-happy', '11-noise', '16a-v2'].map(async (name) => {
      const { code } = await runCli(['check', join(streamsDir, `${name}.jsonl`)]);
      return code;
    });
    expect(await Promise.all(codes)).toEqual([0, 1, 2]);
  });

  it('reads stdin and writes JSON', async () => {
    const input = readFileSync(join(streamsDir, '16i-header-twice.jsonl'));
    const { code, stdout } = await runCli(['check', '-', '-o', 'json'], { input });
    const lines = stdout.toString().trim().split('\n');
    expect(code).toBe(1);
    expect(lines.map((line) => JSON.parse(line)).at(-1)).toEqual({
      verdict: 'findings',
      lines: 5,
      frames: 5,
      errors: 1,
    });
  });

  it('names a file that is not there', async () => {
    const { code, stderr } = await runCli(['check', 'no/such/file']);
    expect(code).toBe(64);
    expect(stderr).toMatch(/no\/such\/file/);
  });
});
