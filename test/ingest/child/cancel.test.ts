import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adoptChild } from '../../../src/ingest/child/child-source.js';
import type { SignalReport } from '../../../src/ingest/child/escalation.js';
import { markedSignals, markSignal } from '../../../src/ingest/spool/signal-file.js';
import { agent, known, openKeeper, run, stdoutHas } from '../keeper/keeper-fixture.js';

test('an agent that ignores INT and TERM gets each once, then KILL to its group', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', agent('c09-ignores-int-term.sh')]);
  await stdoutHas(child, 'message_delta');
  const sent: SignalReport[] = [];
  const startedAt = performance.now();
  await child.escalate({
    interruptGraceMs: 300,
    terminateGraceMs: 200,
    onSignal: (report) => sent.push(report),
  });
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(500);
  const { exit, stdout } = await run(child);
  expect(sent).toEqual([
    { signal: 'SIGINT', processGroup: false },
    { signal: 'SIGTERM', processGroup: false },
    { signal: 'SIGKILL', processGroup: true },
  ]);
  expect(known(exit)).toMatchObject({ code: null, signal: 'SIGKILL' });
  expect(stdout.length).toBe(exit.stdoutBytes);
  expect(markedSignals(child.dir)).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL']);
});

test('two escalations at once, and a third of an adopter, send one SIGINT', async () => {
  await using keeper = await openKeeper();
  // c11-cancel-polite, but it says when it is ready for a signal.
  const script = `let n = 0;
    process.on('SIGINT', () => {
      n += 1;
      if (n > 1) { console.error('second SIGINT'); process.exit(1); }
      setTimeout(() => { console.log('cancelled'); process.exit(130); }, 400);
    });
    setInterval(() => {}, 1000);
    console.log('ready');`;
  const child = await keeper.start([process.execPath, '-e', script]);
  await stdoutHas(child, 'ready');
  const adopted = adoptChild(keeper.keeper, child.runId, child.dir);
  const sent: string[] = [];
  const options = { onSignal: ({ signal }: SignalReport) => sent.push(signal) };
  await Promise.all([child.escalate(options), child.escalate(options), adopted?.escalate(options)]);
  const { exit, stdout, stderr } = await run(child);
  expect(sent).toEqual(['SIGINT']);
  expect(stderr).toBe('');
  expect(stdout).toBe('ready\ncancelled\n');
  expect(known(exit)).toMatchObject({ code: 130, signal: null });
});

test('an escalation after a crash waits for the rest of the grace and sends no second SIGINT', async () => {
  await using keeper = await openKeeper();
  const script =
    'trap "echo INT" INT; trap "echo TERM; exit 7" TERM; echo up; while :; do read x; done';
  const child = await keeper.start(['bash', '-c', `${script} < <(sleep 300)`]);
  await stdoutHas(child, 'up');
  // The bridge died between the mark and the signal, or right after: it cannot be told which.
  await markSignal(child.dir, 'SIGINT');
  const sent: string[] = [];
  await child.escalate({ interruptGraceMs: 300, onSignal: ({ signal }) => sent.push(signal) });
  const { exit, stdout } = await run(child);
  expect(sent).toEqual(['SIGTERM']);
  expect(stdout).toBe('up\nTERM\n');
  expect(known(exit).code).toBe(7);
});

test('an escalation that is stopped sends nothing more, and another goes on from there', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start([
    'sh',
    '-c',
    'trap "echo INT" INT; echo up; while :; do sleep 1; done',
  ]);
  await stdoutHas(child, 'up');
  const stop = new AbortController();
  const sent: string[] = [];
  await child.escalate({
    signal: stop.signal,
    onSignal: ({ signal }) => {
      sent.push(signal);
      stop.abort();
    },
  });
  expect(sent).toEqual(['SIGINT']);
  expect(existsSync(join(child.dir, 'signal-TERM'))).toBe(false);
  await child.escalate({ interruptGraceMs: 0, onSignal: ({ signal }) => sent.push(signal) });
  expect(sent).toEqual(['SIGINT', 'SIGTERM']);
  expect(known((await run(child)).exit)).toMatchObject({ signal: 'SIGTERM' });
});

test('an escalation on a child that has ended sends nothing and says so', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['true']);
  await run(child);
  const sent: SignalReport[] = [];
  await child.escalate({ onSignal: (report) => sent.push(report) });
  expect(sent).toEqual([]);
  expect(await child.signal('SIGINT', { group: false })).toEqual({ error: 'ESRCH' });
});

test('children that die exactly as they are signalled end as one or the other, never unknown', async () => {
  await using keeper = await openKeeper();
  const ends = Array.from({ length: 40 }, async () => {
    const child = await keeper.start(['sh', '-c', 'exit 0']);
    const sent: SignalReport[] = [];
    await child.escalate({ onSignal: (report) => sent.push(report) });
    const exit = known((await run(child)).exit);
    if (exit.signal === 'SIGINT') expect(sent).toEqual([{ signal: 'SIGINT', processGroup: false }]);
    else expect(exit.code).toBe(0);
    return sent.length;
  });
  for (const count of await Promise.all(ends)) expect(count).toBeLessThanOrEqual(1);
});

test('a child that closes its streams and lives on is still there to be cancelled', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', 'echo up; exec >&- 2>&-; sleep 300 & wait']);
  await stdoutHas(child, 'up');
  await child.escalate({ onSignal: () => undefined });
  const { exit, stdout } = await run(child);
  expect(stdout).toBe('up\n');
  expect(known(exit).signal).toBe('SIGINT');
});
