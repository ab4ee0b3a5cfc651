import { describe, expect, it } from 'vitest';
import { runCli } from './cli.js';

const commands = ['serve', 'run', 'pipe', 'watch', 'runs', 'cancel', 'export', 'check'];

describe('help', () => {
  it('lists all commands', async () => {
    const { code, stdout } = await runCli(['--help']);
    expect(code).toBe(0);
    for (const command of commands)
      expect(stdout.toString()).toMatch(new RegExp(`^  ${command} `, 'm'));
  });

  for (const command of commands) {
    it(`of ${command} goes to stdout and has the exit codes`, async () => {
      const { code, stdout, stderr } = await runCli([command, '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout.toString()).toMatch(/^ {2}66 {2}RUN_NOT_FOUND, PROFILE_NOT_FOUND$/m);
    });
  }

  it('of serve says what each way to stop does, in a line', async () => {
    const help = (await runCli(['serve', '--help'])).stdout.toString();
    expect(help).toMatch(/^ {2}drain {3}no new runs; .* up to --drain-limit, then cancels .*$/m);
    expect(help).toMatch(/^ {2}cancel {2}the default: the same without waiting$/m);
    expect(help).toMatch(/^ {2}leave {3}hands over: agents run on, .* takes them up$/m);
    const unwrapped = help.replace(/\s+/g, ' ');
    expect(unwrapped).toMatch(/--on-stop <what> [^-]*drain \| cancel \| leave \(default: cancel\)/);
    expect(unwrapped).toMatch(/--drain-limit <duration> [^-]*\(default: 10m\)/);
    expect(unwrapped).toMatch(/--lost-after <duration> [^-]*\(default: 2m\)/);
  });

  it('is named when a command is missing or unknown, with 64', async () => {
    for (const args of [[], ['frob'], ['runs', '--frob']]) {
      const { code, stdout, stderr } = await runCli(args);
      expect([code, stdout.toString()]).toEqual([64, '']);
      expect(stderr).toMatch(/^hep-bridge: .*see hep-bridge --help \(USAGE\)\n$/);
    }
  });
});
