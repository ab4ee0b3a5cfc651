import {
  appendFileSync,
  linkSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { followSpool, type SpoolItem } from '../../../src/ingest/spool/follow.js';
import { createSpool } from '../../../src/ingest/spool/run-spool.js';
import { agent, collect, known, makeDataDir, openKeeper, run } from '../keeper/keeper-fixture.js';

/** A spool without a process, which the test writes itself. */
function openSpool(): Disposable & { dir: string; end(stdoutBytes: number): void } {
  const dataDir = makeDataDir();
  const dir = createSpool({ dataDir, runId: 'r', request: {} });
  return {
    dir,
    end: (stdoutBytes) => {
      const exit = { code: 0, signal: null, stdoutBytes, stderrBytes: 0, leftover: 0, escaped: 0 };
      writeFileSync(join(dir, 'exit.json'), JSON.stringify({ ...exit, exitTimeMs: 1 }));
    },
    [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }),
  };
}

function follow(
  dir: string,
  fromStdout = 0,
  signal?: AbortSignal,
): AsyncGenerator<SpoolItem, void> {
  return followSpool({ dir, fromStdout, fromStderr: 0, ...(signal && { signal }) });
}

test('an agent that is gone before the reader starts is read whole', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start([agent('c01-exit-before-drain.sh')]);
  await run(child);
  const { stdout, exit } = await run(child);
  expect(stdout.split('\n').filter((line) => line !== '')).toHaveLength(903);
  expect(exit.stdoutBytes).toBe(stdout.length);
});

test('a flood on stderr does not hold up stdout', async () => {
  await using keeper = await openKeeper();
  const startedAt = performance.now();
  const { stdout, stderr } = await run(await keeper.start([agent('c05-stderr-flood.sh')]));
  expect(stdout.split('\n')).toHaveLength(4);
  expect(stderr).toBe('e'.repeat(1 << 20));
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

test('an agent that never reads its megabyte of stdin ends with its own code', async () => {
  await using keeper = await openKeeper();
  const file = join(keeper.dataDir, 'prompt');
  writeFileSync(file, 'x'.repeat(1 << 20));
  const child = await keeper.start([agent('c08-exits-before-reading-stdin.sh')], {
    stdin: { file },
  });
  const { stdout, stderr, exit } = await run(child);
  expect([stdout, stderr, known(exit).code]).toEqual(['', 'auth failed\n', 7]);
});

test('a line that comes one byte at a time is there 200 ms after its end at the latest', async () => {
  await using keeper = await openKeeper();
  const script = `let n = 0;
    const line = () => JSON.stringify({ n, at: Date.now() }) + '\\n';
    let text = line();
    const write = () => {
      if (text === '') { n += 1; if (n === 5) return; text = line(); }
      process.stdout.write(text[0]);
      text = text.slice(1);
      if (text === '\\n') text = '\\n';
      setTimeout(write, 1);
    };
    process.stdout.on('error', () => {});
    write();`;
  const child = await keeper.start([process.execPath, '-e', script]);
  const chunks: string[] = [];
  for await (const item of child.events({ fromStdout: 0, fromStderr: 0 })) {
    if (!('exit' in item)) chunks.push(Buffer.from(item.bytes).toString());
  }
  // Had it been told late, many bytes would have come in one chunk.
  expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(100);
  expect(chunks.join('').trim().split('\n')).toHaveLength(5);
});

test('what is written is delivered at once and not at the next sweep', async () => {
  using spool = openSpool();
  const items = follow(spool.dir);
  const delays: number[] = [];
  for (let index = 0; index < 50; index += 1) {
    const next = items.next();
    const writtenAt = performance.now();
    appendFileSync(join(spool.dir, 'stdout'), 'x');
    await next;
    delays.push(performance.now() - writtenAt);
  }
  expect(delays.sort((a, b) => a - b)[25]).toBeLessThan(50);
  await items.return();
});

test('a follow from the middle starts with the byte at that offset', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', 'echo 0123456789; echo abcdef >&2']);
  await run(child);
  const { stdout, stderr, exit } = await collect(child.events({ fromStdout: 4, fromStderr: 3 }));
  expect([stdout, stderr, exit.stdoutBytes]).toEqual(['456789\n', 'def\n', 11]);
  const nothing = await collect(child.events({ fromStdout: 11, fromStderr: 7 }));
  expect([nothing.stdout, nothing.stderr, nothing.chunks]).toEqual(['', '', 0]);
});

test('offsets are contiguous, chunks are 256 KiB at most and belong to the reader', async () => {
  using spool = openSpool();
  const bytes = Buffer.alloc(700_000, 'abcdefg');
  writeFileSync(join(spool.dir, 'stdout'), bytes);
  spool.end(bytes.length);
  const chunks: { offset: number; bytes: Uint8Array }[] = [];
  for await (const item of follow(spool.dir)) if (!('exit' in item)) chunks.push(item);
  expect(chunks.map(({ offset }) => offset)).toEqual([0, 262_144, 524_288]);
  expect(Buffer.concat(chunks.map((chunk) => chunk.bytes)).equals(bytes)).toBe(true);
});

test('both streams take turns while both have something', async () => {
  using spool = openSpool();
  writeFileSync(join(spool.dir, 'stdout'), Buffer.alloc(1 << 19));
  writeFileSync(join(spool.dir, 'stderr'), Buffer.alloc(1 << 19));
  const items = follow(spool.dir);
  const streams: string[] = [];
  for await (const item of items) {
    if ('exit' in item) break;
    streams.push(item.stream);
    if (streams.length === 4) break;
  }
  expect(streams).toEqual(['stdout', 'stderr', 'stdout', 'stderr']);
});

test('a follow reads nothing that was not asked for', async () => {
  using spool = openSpool();
  writeFileSync(join(spool.dir, 'stdout'), 'first');
  const items = follow(spool.dir);
  await items.next();
  appendFileSync(join(spool.dir, 'stdout'), 'second');
  appendFileSync(join(spool.dir, 'stdout'), 'third');
  const { value } = await items.next();
  if (value === undefined || 'exit' in value) throw new Error('no chunk');
  expect(Buffer.from(value.bytes).toString()).toBe('secondthird');
  await items.return();
});

test('the exit bounds what is delivered, and the rest is counted', async () => {
  using spool = openSpool();
  writeFileSync(join(spool.dir, 'stdout'), 'whole|late');
  spool.end(5);
  const { stdout, lateStdoutBytes } = await collect(follow(spool.dir));
  expect([stdout, lateStdoutBytes]).toEqual(['whole', 5]);
});

test('a file that was cut short under the reader ends the follow and does not hang it', async () => {
  using spool = openSpool();
  writeFileSync(join(spool.dir, 'stdout'), 'a long line');
  const items = follow(spool.dir);
  await items.next();
  writeFileSync(join(spool.dir, 'stdout'), 'cut');
  spool.end(3);
  const last = await items.next();
  expect(last.value).toMatchObject({ exit: { stdoutBytes: 3 }, lateStdoutBytes: 0 });
});

test('an abort ends a follow that waits, with its reason, and closes its files', async () => {
  using spool = openSpool();
  const before = readdirSync('/proc/self/fd').length;
  const abort = new AbortController();
  const next = follow(spool.dir, 0, abort.signal).next();
  abort.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 1);
  await expect(follow(spool.dir, 0, abort.signal).next()).rejects.toThrow('enough');
});

test('a write that no watch tells of is found by the sweep', async () => {
  using spool = openSpool();
  // Written under a name outside of the watched directory: the kernel tells nobody.
  const alias = join(spool.dir, '..', '..', 'alias');
  linkSync(join(spool.dir, 'stdout'), alias);
  const items = follow(spool.dir);
  const next = items.next();
  appendFileSync(alias, 'unheard');
  expect((await next).value).toMatchObject({ stream: 'stdout', offset: 0 });
  await items.return();
});

test('a spool that is not there is an error', async () => {
  await expect(follow('/no/such/spool').next()).rejects.toThrow('ENOENT');
});

test('a thousand idle follows share one inotify instance and cost next to nothing', async () => {
  using spool = openSpool();
  const follows = Array.from({ length: 1_000 }, () => follow(spool.dir));
  const nexts = follows.map(async (items) => await items.next());
  const opened = readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
  expect(opened.filter((path) => path === 'anon_inode:inotify')).toHaveLength(1);
  const used = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const { user, system } = process.cpuUsage(used);
  expect((user + system) / 1_000).toBeLessThan(200);
  spool.end(0);
  for (const { value } of await Promise.all(nexts)) expect(value).toMatchObject({ exit: {} });
  await Promise.all(follows.map(async (items) => await items.return()));
});

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
