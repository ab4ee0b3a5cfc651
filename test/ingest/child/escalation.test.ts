import { expect, test } from 'vitest';
import { escalate, type SignalReport } from '../../../src/ingest/child/escalation.js';
import { memoryMarks } from '../../../src/ingest/child/signal-marks.js';

test('any signaller can be escalated through, and what hinders it is reported', async () => {
  const asked: [string, boolean][] = [];
  const reports: SignalReport[] = [];
  await escalate({
    signaller: {
      send: async (signal, group) => {
        asked.push([signal, group]);
        return signal === 'SIGTERM' ? { error: 'ESRCH' } : {};
      },
    },
    marks: memoryMarks(),
    ended: new AbortController().signal,
    interruptGraceMs: 1,
    terminateGraceMs: 1,
    onSignal: (report) => reports.push(report),
  });
  expect(asked).toEqual([
    ['SIGINT', false],
    ['SIGTERM', false],
    ['SIGKILL', true],
  ]);
  expect(reports).toEqual([
    { signal: 'SIGINT', processGroup: false },
    { signal: 'SIGTERM', processGroup: false, error: 'ESRCH' },
    { signal: 'SIGKILL', processGroup: true },
  ]);
});

test('SIGKILL is brought again until it arrives', async () => {
  let kills = 0;
  await escalate({
    signaller: {
      send: async (signal) => {
        if (signal === 'SIGKILL') kills += 1;
        return kills < 2 ? { error: 'KEEPER_UNREACHABLE' } : {};
      },
    },
    marks: memoryMarks(),
    ended: new AbortController().signal,
    interruptGraceMs: 0,
    terminateGraceMs: 0,
    onSignal: () => undefined,
  });
  expect(kills).toBe(2);
});
