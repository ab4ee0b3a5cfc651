import { describe, expect, it } from 'vitest';
import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import { exitCodeHelp, exitCodeOf, exitCodeOfRun } from '../../src/cli/exit-code.js';
import { runCli } from './cli.js';

describe('exit codes', () => {
  it('of errors never mean an outcome or a finding', () => {
    expect(exitCodeOf('RUN_NOT_FOUND')).toBe(66);
    expect(exitCodeOf('BRIDGE_UNREACHABLE')).toBe(69);
    expect(exitCodeOf('CONFIG_INVALID')).toBe(78);
  });

  it('of a run is 0 for COMPLETED alone', () => {
    const codes = [1, 2, 3, 4, 5, 6].map((outcome: Outcome) => exitCodeOfRun(outcome));
    expect(codes).toEqual([0, 1, 130, 3, 2, 4]);
    expect(exitCodeOfRun(Outcome.UNSPECIFIED)).toBe(70);
  });

  it('are all in the help', () => {
    expect(exitCodeHelp()).toMatch(/^ {2}69 .*NATS_UNREACHABLE/m);
  });
});

describe('hep-bridge', () => {
  it('has help for each command, with examples and exit codes', async () => {
    const top = await runCli(['--help']);
    expect(top.code).toBe(0);
    for (const name of ['serve', 'run', 'pipe', 'watch', 'runs', 'cancel', 'export', 'check']) {
      expect(top.stdout.toString()).toContain(`\n  ${name} `);
      const help = await runCli([name, '--help']);
      expect(help.code).toBe(0);
      expect(help.stdout.toString()).toMatch(/^Exit code/m);
      expect(help.stderr).toBe('');
    }
  });

  it('answers a wrong flag with one line that names the near one, and 64', async () => {
    const result = await runCli(['pipe', '--lable', 'a=b']);
    expect(result.code).toBe(64);
    expect(result.stdout.length).toBe(0);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(result.stderr).toMatch(/--lable.*--label/);
  });

  it('writes an error as JSON where the output is JSON', async () => {
    const result = await runCli(['runs', '-s', '127.0.0.1:1', '-o', 'json']);
    expect(result.code).toBe(69);
    expect(JSON.parse(result.stderr).error).toMatchObject({ code: 'BRIDGE_UNREACHABLE' });
  });

  it('says how to start a bridge when none answers', async () => {
    const result = await runCli([
      'watch',
      '01a231bc-436f-747c-ad04-d960fda26d6a',
      '-s',
      '127.0.0.1:1',
    ]);
    expect(result.code).toBe(69);
    expect(result.stderr).toMatch(/127\.0\.0\.1:1.*hep-bridge serve/);
  });
});
