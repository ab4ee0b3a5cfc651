import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identifyProcess } from '../../src/ingest/child/process-identity.js';
import { lockDataDir, ownerIdOf } from '../../src/log/data-dir-lock.js';

const HOLDER = fileURLToPath(new URL('./holder.mjs', import.meta.url));
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'hep-lock-'));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Another process that holds the directory. */
async function holdElsewhere(dir: string): Promise<{ pid: number; kill9(): Promise<void> }> {
  const child = spawn(process.execPath, [HOLDER, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    pid: child.pid ?? 0,
    async kill9() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

describe('the lock of a data directory', () => {
  it('is held by one process, whose pid the other is told, and is free when that is killed', async () => {
    const dir = join(root, 'killed');
    const holder = await holdElsewhere(dir);
    await expect(lockDataDir(dir)).rejects.toMatchObject({
      code: 'DATA_DIR_IN_USE',
      message: expect.stringMatching(new RegExp(`pid ${holder.pid}.*--data-dir`)),
    });
    await holder.kill9();
    await using lock = await lockDataDir(dir);
    expect(lock).toBeDefined();
  });

  it('is one for all names of the directory', async () => {
    const dir = join(root, 'named');
    await using lock = await lockDataDir(dir);
    symlinkSync(dir, join(root, 'other-name'));
    await expect(lockDataDir(join(root, 'other-name'))).rejects.toMatchObject({
      code: 'DATA_DIR_IN_USE',
    });
    await lock.release();
    await (await lockDataDir(join(root, 'other-name'))).release();
  });

  it('goes to exactly one of many that ask at once', async () => {
    const dir = join(root, 'many');
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataDir(dir)));
    const locks = asked.filter((each) => each.status === 'fulfilled');
    expect(locks).toHaveLength(1);
    await locks[0]?.value.release();
    await locks[0]?.value.release();
  });

  it('is not given while the process in the pid file lives, whatever holds the socket', async () => {
    const dir = join(root, 'container');
    mkdirSync(dir);
    writeFileSync(join(dir, 'bridge.json'), JSON.stringify(identifyProcess(process.pid)));
    await expect(lockDataDir(dir)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' });
    writeFileSync(join(dir, 'bridge.json'), 'half a fi');
    await (await lockDataDir(dir)).release();
  });

  it('makes the directory for its user alone', async () => {
    const dir = join(root, 'deep', 'er');
    await using lock = await lockDataDir(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(lock).toBeDefined();
  });

  it('is refused for what is no directory', async () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    await expect(lockDataDir(file)).rejects.toMatchObject({ code: 'DATA_DIR_INVALID' });
    await expect(lockDataDir(join(file, 'below'))).rejects.toMatchObject({
      code: 'DATA_DIR_INVALID',
    });
  });
});

describe('the owner id', () => {
  it('is minted once for a directory', () => {
    expect(ownerIdOf(root, () => 'first')).toBe('first');
    expect(ownerIdOf(root, () => 'second')).toBe('first');
  });
});
