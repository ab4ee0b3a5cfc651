import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readExit } from '../../../src/ingest/spool/exit-file.js';
import { readProcessRecord } from '../../../src/ingest/spool/process-file.js';
import {
  createSpool,
  listSpools,
  readRequest,
  removeSpool,
} from '../../../src/ingest/spool/run-spool.js';
import { markedSignals, markSignal } from '../../../src/ingest/spool/signal-file.js';
import { checkSpace, spoolBytes } from '../../../src/ingest/spool/space.js';
import { makeDataDir } from '../keeper/keeper-fixture.js';

function openDataDir(): Disposable & { path: string } {
  const path = makeDataDir();
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('a spool holds its request, its prompt and two empty streams, for its user alone', async () => {
  using data = openDataDir();
  const request = { a: [1, 'ü'] };
  const dir = createSpool({ dataDir: data.path, runId: 'r1', request, prompt: 'say hi' });
  expect(dir).toBe(join(data.path, 'spool', 'r1'));
  expect(readRequest(dir)).toEqual(request);
  expect(readFileSync(join(dir, 'prompt'), 'utf8')).toBe('say hi');
  for (const name of ['request.json', 'prompt', 'stdout', 'stderr']) {
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  }
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect([readProcessRecord(dir), readExit(dir), markedSignals(dir)]).toEqual([
    undefined,
    undefined,
    [],
  ]);
});

test('spools are listed in order, without what is none, and removed', async () => {
  using data = openDataDir();
  expect(await listSpools(data.path)).toEqual([]);
  for (const runId of ['b', 'a', 'c']) createSpool({ dataDir: data.path, runId, request: {} });
  writeFileSync(join(data.path, 'spool', 'lost+found.txt'), '');
  await removeSpool(data.path, 'b');
  await removeSpool(data.path, 'b');
  expect(await listSpools(data.path)).toEqual(['a', 'c']);
});

test('a run has one spool', () => {
  using data = openDataDir();
  createSpool({ dataDir: data.path, runId: 'r', request: {} });
  expect(() => createSpool({ dataDir: data.path, runId: 'r', request: {} })).toThrow(
    'run r has a spool directory already',
  );
});

test.each(['', '..', 'a/b', 'a\0', 'x'.repeat(65), 'a b'])('%j is no name of a spool', (runId) => {
  expect(() => createSpool({ dataDir: '/nowhere', runId, request: {} })).toThrow('be spooled');
});

test('one of many callers at once is told that it marked a signal first, and no later one', async () => {
  using data = openDataDir();
  const dir = createSpool({ dataDir: data.path, runId: 'r', request: {} });
  const marks = await Promise.all(Array.from({ length: 20 }, () => markSignal(dir, 'SIGINT')));
  expect(marks.filter(({ first }) => first)).toHaveLength(1);
  const later = await markSignal(dir, 'SIGINT');
  expect(later.first).toBe(false);
  expect(Date.now() - later.atMs).toBeLessThan(10_000);
  expect(markedSignals(dir)).toEqual(['SIGINT']);
});

test('records that a power cut left empty or torn count as not there', () => {
  using data = openDataDir();
  const dir = createSpool({ dataDir: data.path, runId: 'r', request: {} });
  for (const text of ['', '{"pid":', 'null', '[]', '{"pid":0,"startTime":"1","bootId":"b"}']) {
    writeFileSync(join(dir, 'process.json'), text);
    writeFileSync(join(dir, 'exit.json'), text);
    expect(readProcessRecord(dir)).toBeUndefined();
    expect(readExit(dir)).toBeUndefined();
  }
});

test('space is judged by the reserve first, then by the quota', async () => {
  using data = openDataDir();
  const dir = createSpool({ dataDir: data.path, runId: 'r', request: {} });
  writeFileSync(join(dir, 'stdout'), Buffer.alloc(10_000));
  const state = async (reserveBytes: number, quotaBytes: number): Promise<string> =>
    (await checkSpace(data.path, { reserveBytes, quotaBytes })).state;
  expect(await state(0, 0)).toBe('ok');
  expect(await state(1, 1 << 20)).toBe('ok');
  expect(await state(0, 9_999)).toBe('over-quota');
  expect(await state(Number.MAX_SAFE_INTEGER, 9_999)).toBe('below-reserve');
  const space = await checkSpace(data.path, { reserveBytes: 0, quotaBytes: 0 });
  expect(space.usedBytes).toBe(await spoolBytes(data.path, 'r'));
  expect(space.usedBytes).toBeGreaterThan(10_000);
  expect(space.freeBytes).toBeGreaterThan(0);
  expect(await spoolBytes(data.path, 'none')).toBe(0);
});

test('a data directory that is not there yet has an empty spool', async () => {
  using data = openDataDir();
  const inner = join(data.path, 'new');
  mkdirSync(inner);
  const space = await checkSpace(inner, { reserveBytes: 0, quotaBytes: 1 });
  expect(space).toMatchObject({ usedBytes: 0, state: 'ok' });
});
