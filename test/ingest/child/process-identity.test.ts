import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isDead, parseProcStat } from '../../../src/ingest/child/proc-stat.js';
import {
  currentBootId,
  decodeIdentity,
  identifyProcess,
  isAlive,
} from '../../../src/ingest/child/process-identity.js';

test('a process is itself, and not one with another start time or of another boot', () => {
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error('no identity');
  expect(self.bootId).toBe(currentBootId());
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, startTime: `${self.startTime}1` })).toBe(false);
  expect(isAlive({ ...self, bootId: 'another' })).toBe(false);
});

test('a process that has ended is not alive', async () => {
  const child = spawn('sleep', ['300']);
  const identity = identifyProcess(child.pid ?? 0);
  if (identity === undefined) throw new Error('no identity');
  expect(isAlive(identity)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe(false);
});

test('a name with blanks and parentheses does not shift the fields', () => {
  const tail = 'S 1 42 43 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0';
  expect(parseProcStat(`7 (a) b) (c) ${tail}`)).toEqual({
    state: 'S',
    processGroup: 42,
    session: 43,
    startTime: '98765',
  });
  expect(parseProcStat('')).toBeUndefined();
  const zombie = parseProcStat(`7 (a) ${tail.replace('S', 'Z')}`);
  expect(zombie !== undefined && isDead(zombie)).toBe(true);
});

test.each([null, [], {}, { pid: 0 }, { pid: 1 }, { pid: -5 }, { pid: 1.5 }])(
  '%j is no identity',
  (value) => {
    expect(decodeIdentity(value && { startTime: '1', bootId: 'b', ...value })).toBeUndefined();
  },
);
