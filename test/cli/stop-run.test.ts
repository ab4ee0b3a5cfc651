import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CliResult,
  childrenDir,
  resultOf,
  runCli,
  type ServedBridge,
  serveBridge,
  startCli,
} from './cli.js';

let bridge: ServedBridge;
beforeAll(async () => {
  bridge = await serveBridge();
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

interface StartedRun {
  readonly child: ChildProcess;
  readonly runId: string;
  readonly result: Promise<CliResult>;
}

/** `hep-bridge run` of an agent that ignores SIGINT and SIGTERM, and streams. */
async function runStubborn(): Promise<StartedRun> {
  const agent = join(childrenDir, 'c09-ignores-int-term.sh');
  const child = startCli(['run', '--', agent], bridge.env);
  const result = resultOf(child);
  const [stderr] = await Promise.all([said(child.stderr, '\n'), said(child.stdout, 'hi')]);
  return { child, runId: /^run (\S+)/m.exec(stderr)?.[1] ?? '', result };
}

/** Resolves with all that stands on `stream` when `text` does. */
async function said(stream: NodeJS.ReadableStream | null, text: string): Promise<string> {
  let all = '';
  return new Promise((resolve) => {
    stream?.on('data', (chunk) => {
      all += chunk;
      if (all.includes(text)) resolve(all);
    });
  });
}

/** Kinds of the cancel's events in the log, in order; of a signal its name, and where it went. */
async function cancelEvents(runId: string): Promise<string[]> {
  const { stdout } = await runCli(['watch', runId, '-o', 'json'], { env: bridge.env });
  const events = stdout.toString().trim().split('\n');
  return events.flatMap((line) => {
    const { cancel_requested: requested, cancel_signalled: signalled } = JSON.parse(line);
    if (requested !== undefined) return [requested.force === true ? 'forced' : 'requested'];
    if (signalled === undefined) return [];
    const { signal, process_group: group, error } = signalled;
    return [`${signal}${group === true ? ' group' : ''}${error === undefined ? '' : ' failed'}`];
  });
}

const ended =
  /\n● CANCELLED \(CANCEL_SIGNALLED\): cancelled: ended by SIGKILL; its end was asked for: (.*)\n/;

describe('run, of an agent that ignores signals', () => {
  it('shows its end after the second Ctrl-C, and the log has each signal', async () => {
    const { child, runId, result } = await runStubborn();
    child.kill('SIGINT');
    await said(child.stdout, 'SIGINT\n');
    child.kill('SIGINT');
    const { code, stdout } = await result;
    expect(code).toBe(130);
    expect(stdout.toString()).toMatch(ended);
    expect(stdout.toString()).toMatch(/■ SIGINT\n[^■]*■ SIGTERM\n[^■]*■ SIGKILL to the process/);
    expect(await cancelEvents(runId)).toEqual(['requested', 'SIGINT', 'SIGTERM', 'SIGKILL group']);
  });

  it('does so too when the second follows before the bridge has answered', async () => {
    const { child, runId, result } = await runStubborn();
    child.kill('SIGINT');
    await said(child.stderr, 'once more');
    child.kill('SIGINT');
    const { code, stdout } = await result;
    expect(code).toBe(130);
    expect(stdout.toString()).toMatch(/\n● CANCELLED \(CANCEL_SIGNALLED\)/);
    const signals = (await cancelEvents(runId)).filter((kind) => kind !== 'requested');
    expect(signals).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL group']);
  });

  it('is hurried by hep-bridge cancel --force', async () => {
    const { runId, result } = await runStubborn();
    await runCli(['cancel', runId], { env: bridge.env });
    const args = ['cancel', runId, '--force', '--terminate-grace', '200ms', '--wait', '20s'];
    const forced = await runCli(args, { env: bridge.env });
    expect(forced.stdout.toString()).toMatch(/ is over: CANCELLED \(CANCEL_SIGNALLED\)/);
    expect(forced.stderr).toMatch(
      /with force\n.* SIGTERM sent\n.* SIGKILL sent to the process group/,
    );
    expect((await result).code).toBe(130);
    expect(await cancelEvents(runId)).toEqual([
      'requested',
      'SIGINT',
      'forced',
      'SIGTERM',
      'SIGKILL group',
    ]);
  });
});
