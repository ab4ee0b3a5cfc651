import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEnvFiles } from '../../src/control/start/env-files.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hep-secret-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function fileWith(content: string | Uint8Array): string {
  const path = join(dir, 'secret');
  writeFileSync(path, content);
  return path;
}

describe('variables from files', () => {
  for (const [content, value] of [
    ['s3cret', 's3cret'],
    ['s3cret\n', 's3cret'],
    ['two\nlines\n\n', 'two\nlines\n'],
    ['', ''],
    ['ü'.repeat(32_768), 'ü'.repeat(32_768)],
  ] as const) {
    it(`lose one newline at the end: ${JSON.stringify(content.slice(0, 16))}`, async () => {
      expect(await readEnvFiles('fa', { KEY: fileWith(content) })).toEqual({ KEY: value });
    });
  }

  for (const [title, make, why] of [
    ['that is not there', () => join(dir, 'none'), /does not exist/],
    ['that is a directory', () => dir, /is not a regular file/],
    ['over 64 KiB', () => fileWith('s3cret'.padEnd(65_537, 'x')), /more than 65536 bytes/],
    ['with a NUL byte', () => fileWith('s3cret\0'), /NUL/],
    ['that is not text', () => fileWith(Buffer.from('s3cret\xff', 'latin1')), /UTF-8/],
    [
      'that is a pipe which nobody writes',
      () => {
        const path = join(dir, 'pipe');
        spawnSync('mkfifo', [path]);
        return path;
      },
      /is not a regular file/,
    ],
  ] as const) {
    it(`refuse a file ${title}, and name it without what it holds`, async () => {
      const path = make();
      const read = readEnvFiles('fa', { KEY: path });
      await expect(read).rejects.toMatchObject({ code: 'PROFILE_UNUSABLE' });
      await expect(read).rejects.toThrow(`profile "fa" cannot be used: the file ${path} for KEY`);
      await expect(read).rejects.toThrow(why);
      await expect(read).rejects.not.toThrow(/s3cret/);
    });
  }
});
