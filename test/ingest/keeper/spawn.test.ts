import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../../../src/ingest/child/child-source.js';
import { readProcessRecord } from '../../../src/ingest/spool/process-file.js';
import { createSpool } from '../../../src/ingest/spool/run-spool.js';
import { ended, known, openKeeper, pidOf, run } from './keeper-fixture.js';

test.each([0, 1, 3, 64, 130, 143])('an exit with code %i is on file as that code', async (code) => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', `exit ${code}`]);
  expect(known((await run(child)).exit)).toMatchObject({ code, signal: null, stdoutBytes: 0 });
});

test.each(['SIGKILL', 'SIGINT', 'SIGTERM', 'SIGSEGV'] as const)(
  'death by %s is on file as that signal and not as a code',
  async (signal) => {
    await using keeper = await openKeeper();
    const child = await keeper.start(['sh', '-c', `kill -${signal.slice(3)} $$`]);
    expect(known((await run(child)).exit)).toMatchObject({ code: null, signal });
  },
);

test('a child leads its own group and session and has three descriptors', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', 'cat /proc/self/stat; ls /proc/self/fd']);
  const { stdout } = await run(child);
  const [stat = '', ...fds] = stdout.trim().split('\n');
  const [, , , processGroup, session] = stat.split(' ');
  expect([processGroup, session]).toEqual([String(child.pid), String(child.pid)]);
  // The fourth is the folder that ls itself reads.
  expect(fds).toEqual(['0', '1', '2', '3']);
});

test('a child has the environment of the request, the run id and nothing else', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['/usr/bin/env'], { runId: 'abc', env: { A: 'b c\n1' } });
  expect((await run(child)).stdout).toBe('A=b c\n1\nHEP_RUN_ID=abc\n');
});

test('stdin is empty, or the file that was named', async () => {
  await using keeper = await openKeeper();
  const file = join(keeper.dataDir, 'input');
  writeFileSync(file, 'x'.repeat(1 << 20));
  const nothing = await keeper.start(['wc', '-c']);
  const something = await keeper.start(['wc', '-c'], { stdin: { file } });
  expect((await run(nothing)).stdout.trim()).toBe('0');
  expect((await run(something)).stdout.trim()).toBe(String(1 << 20));
});

test('what cannot be started is named', async () => {
  await using keeper = await openKeeper();
  const script = join(keeper.dataDir, 'script');
  writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
  const data = join(keeper.dataDir, 'plain');
  writeFileSync(data, '', { mode: 0o644 });
  const fails = async (argv: string[], options = {}): Promise<unknown> =>
    await keeper.tryStart(argv, options);
  expect(await fails(['no-such-agent'])).toEqual({
    error: 'ENOENT',
    message: 'program no-such-agent is not in PATH',
  });
  expect(await fails(['/no/such'])).toEqual({
    error: 'ENOENT',
    message: 'program /no/such does not exist',
  });
  expect(await fails([script])).toEqual({
    error: 'ENOENT',
    message: `program ${script} names an interpreter that does not exist`,
  });
  expect(await fails([data])).toEqual({
    error: 'EACCES',
    message: `program ${data} may not be executed`,
  });
  expect(await fails(['sh'], { cwd: '/no/such' })).toEqual({
    error: 'CWD_MISSING',
    message: 'working directory /no/such does not exist',
  });
  expect(await fails(['sh'], { cwd: data })).toMatchObject({ error: 'CWD_MISSING' });
  expect(await fails(['sh'], { stdin: { file: '/no/such' } })).toEqual({
    error: 'STDIN_MISSING',
    message: 'file for stdin /no/such does not exist',
  });
  expect(await fails(['echo', 'x'.repeat(1 << 18)])).toMatchObject({ error: 'E2BIG' });
  expect(await fails(['a\0b'])).toMatchObject({ error: 'ERR_INVALID_ARG_VALUE' });
  expect((await run(await keeper.start(['true']))).exit).toMatchObject({ code: 0 });
});

test('a spool that is not there is refused and harms nobody', async () => {
  await using keeper = await openKeeper();
  await keeper.start(['true'], { runId: 'gone' }).then(run);
  rmSync(join(keeper.dataDir, 'spool', 'gone'), { recursive: true });
  expect(await keeper.tryStart(['true'], { runId: 'gone' })).toMatchObject({ error: 'ENOENT' });
});

test('a spawn that is asked again gives the same child, running or ended', async () => {
  await using keeper = await openKeeper();
  const [first, second] = await Promise.all([
    keeper.start(['sleep', '300'], { runId: 'one' }),
    keeper.start(['sleep', '300'], { runId: 'one' }),
  ]);
  expect(second.pid).toBe(first.pid);
  await first.signal('SIGKILL', { group: false });
  await run(first);
  const third = await keeper.start(['echo', 'again'], { runId: 'one' });
  expect(third.pid).toBe(first.pid);
  expect((await run(third)).stdout).toBe('');
});

test('a keeper that died between starting and recording leaves a child that is found again', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sleep', '300'], { runId: 'lost' });
  // As if the keeper had been killed one step earlier.
  process.kill(keeper.keeper.pid, 'SIGKILL');
  await ended(keeper.keeper.pid);
  rmSync(join(child.dir, 'process.json'));
  writeFileSync(join(child.dir, 'spawning'), '');
  const found = await keeper.start(['sleep', '300'], { runId: 'lost' });
  expect(found.pid).toBe(child.pid);
  expect(readProcessRecord(child.dir)?.pid).toBe(child.pid);
  expect(await found.signal('SIGKILL', { group: true })).toEqual({});
  expect((await run(found)).exit.unknown).toBe(true);
});

test('a run that was being started when the keeper died and left no process is not started again', async () => {
  await using keeper = await openKeeper();
  const dir = createSpool({ dataDir: keeper.dataDir, runId: 'half', request: {} });
  writeFileSync(join(dir, 'spawning'), '');
  writeFileSync(join(dir, 'stdout'), 'it ran\n');
  const request = { runId: 'half', argv: ['echo', 'again'], cwd: '/', env: {} };
  const spawned = { ...request, spoolDir: dir, stdin: 'null' } as const;
  expect(await keeper.keeper.spawn(spawned)).toMatchObject({ error: 'SPAWN_UNKNOWN' });
  const child = await startChild({ ...request, keeper: keeper.keeper, dir, stdin: 'null' });
  if ('error' in child) throw new Error(child.message);
  await child.escalate({ onSignal: () => expect.unreachable() });
  const { stdout, exit } = await run(child);
  expect([stdout, exit.unknown]).toEqual(['it ran\n', true]);
});

test('two hundred runs at once end each with its own code, and no descriptor is kept', async () => {
  await using keeper = await openKeeper();
  const fds = (): number => readdirSync(`/proc/${keeper.keeper.pid}/fd`).length;
  await run(await keeper.start(['true']));
  const before = { keeper: fds(), bridge: readdirSync('/proc/self/fd').length };
  const runs = Array.from({ length: 200 }, async (_, index) => {
    const child = await keeper.start(['sh', '-c', `echo ${index}; exit ${index % 100}`]);
    const { exit, stdout } = await run(child);
    return [known(exit).code, stdout];
  });
  expect(await Promise.all(runs)).toEqual(
    Array.from({ length: 200 }, (_, index) => [index % 100, `${index}\n`]),
  );
  expect({ keeper: fds(), bridge: readdirSync('/proc/self/fd').length }).toEqual(before);
});

test('a child whose spool is removed while it runs does not keep the keeper from ending', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sleep', '300']);
  rmSync(child.dir, { recursive: true });
  expect(await child.signal('SIGKILL', { group: false })).toEqual({});
  await ended(pidOf(child));
});

test('files of a run are for its user alone', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['true']);
  await run(child);
  expect(readdirSync(child.dir).sort()).toEqual([
    'exit.json',
    'process.json',
    'request.json',
    'stderr',
    'stdout',
  ]);
  expect(readFileSync(join(child.dir, 'exit.json'), 'utf8')).toHaveLength(512);
});
