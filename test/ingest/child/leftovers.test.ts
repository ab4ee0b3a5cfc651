import { expect, test } from 'vitest';
import { livingProcesses } from '../../../src/ingest/keeper/process-table.js';
import {
  agent,
  ended,
  isRunning,
  known,
  openKeeper,
  run,
  stdoutHas,
} from '../keeper/keeper-fixture.js';

test('a grandchild that holds stdout open does not delay the end, and is killed and counted', async () => {
  await using keeper = await openKeeper();
  const startedAt = performance.now();
  const { exit, stdout } = await run(await keeper.start([agent('c02-grandchild-holds-stdout.sh')]));
  expect(stdout.split('\n')).toHaveLength(4);
  expect(known(exit)).toMatchObject({ code: 0, leftover: 1, escaped: 0 });
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

test('a process that left the group is counted and left alone', async () => {
  await using keeper = await openKeeper();
  const escapes = "setsid sh -c 'echo $$; touch escaped; exec sleep 300' &";
  const script = `${escapes} sleep 300 & while [ ! -e escaped ]; do :; done`;
  const child = await keeper.start(['sh', '-c', script]);
  const { exit, stdout } = await run(child);
  const escapee = Number(stdout.trim());
  expect(known(exit)).toMatchObject({ code: 0, leftover: 1, escaped: 1 });
  expect(isRunning(escapee)).toBe(true);
  process.kill(escapee, 'SIGKILL');
  await ended(escapee);
});

test('a double fork out of the session is counted as escaped', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', '-c', "setsid sh -c 'sleep 300 & echo $!'"]);
  const { exit, stdout } = await run(child);
  expect(known(exit)).toMatchObject({ leftover: 0, escaped: 1 });
  process.kill(Number(stdout.trim()), 'SIGKILL');
});

test('a process of one run is no escapee of another that ends meanwhile', async () => {
  await using keeper = await openKeeper();
  const other = await keeper.start(['sh', '-c', 'sleep 300 & echo up; wait']);
  await stdoutHas(other, 'up');
  const { exit } = await run(await keeper.start(['true']));
  expect(known(exit)).toMatchObject({ leftover: 0, escaped: 0 });
  await other.signal('SIGKILL', { group: true });
  expect(known((await run(other)).exit)).toMatchObject({ signal: 'SIGKILL' });
});

test('a tree of processes is gone after a cancel, but for the one that called setsid', async () => {
  await using keeper = await openKeeper();
  const child = await keeper.start(['sh', agent('c12-tree.sh')]);
  const said = await stdoutHas(child, 'tool_delta');
  const [a = 0, b = 0, c = 0] = (/"update":"([\d ]+)"/.exec(said)?.[1] ?? '')
    .split(' ')
    .map(Number);
  const sent: string[] = [];
  await child.escalate({ onSignal: ({ signal }) => sent.push(signal) });
  const { exit } = await run(child);
  expect(sent).toEqual(['SIGINT']);
  // The agent says its pids before it sets its trap, and B may be about to fork.
  expect([known(exit).code ?? 130, exit]).toMatchObject([130, { escaped: 1 }]);
  expect(known(exit).leftover).toBeGreaterThanOrEqual(2);
  await Promise.all([ended(a), ended(b)]);
  const left = livingProcesses().filter(({ processGroup }) => processGroup === child.pid);
  await Promise.all(left.map(async ({ pid }) => await ended(pid)));
  expect(isRunning(c)).toBe(true);
  process.kill(c, 'SIGKILL');
});

test('what outlives the child writes after its end is counted and not delivered', async () => {
  await using keeper = await openKeeper();
  const late = 'touch escaped; while [ ! -e exit.json ]; do :; done; echo late; echo gone >&2';
  const waits = 'while [ ! -e escaped ]; do :; done';
  const script = `cd spool/run-1; setsid sh -c '${late}' & ${waits}; echo early`;
  const child = await keeper.start(['sh', '-c', script]);
  const first = await run(child);
  expect(known(first.exit)).toMatchObject({ code: 0, stdoutBytes: 6, escaped: 1 });
  for (;;) {
    const again = await run(child);
    expect([again.stdout, again.exit]).toEqual(['early\n', first.exit]);
    if (again.lateStderrBytes === 5) {
      expect(again.lateStdoutBytes).toBe(5);
      break;
    }
  }
});
