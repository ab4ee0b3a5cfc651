import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');
/** Its time is the start of the last build: what was written later is not in it. */
const stamp = join(dist, '.built');

/**
 * Before any test: builds `dist`, since the keeper and the CLI are processes of their own and plain
 * Node loads no TypeScript. A file that did not change is not touched and a changed one is replaced by
 * rename, so that processes of another test run that start meanwhile read whole files.
 */
export function setup(): void {
  const startedAt = new Date();
  const builtAt = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (newest(join(root, 'src')) < builtAt) return;
  const fresh = mkdtempSync(join(root, '.dist-'));
  try {
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    const args = ['-p', 'tsconfig.build.json', '--outDir', fresh];
    const { status, stdout } = spawnSync(tsc, args, { cwd: root, encoding: 'utf8' });
    // Whatever the types say, tests that do not need the faulty file can run.
    if (status !== 0) console.error(stdout);
    for (const path of filesUnder(fresh)) publish(join(fresh, path), join(dist, path));
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function publish(from: string, to: string): void {
  if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) return;
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
}

function newest(dir: string): number {
  return Math.max(0, ...filesUnder(dir).map((path) => statSync(join(dir, path)).mtimeMs));
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
}
