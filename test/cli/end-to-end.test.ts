import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  agentFile,
  childrenDir,
  resultOf,
  runCli,
  type ServedBridge,
  serveBridge,
  startCli,
  streamsDir,
} from './cli.js';
import { cutWay } from './cut-way.js';

let bridge: ServedBridge;
beforeAll(async () => {
  bridge = await serveBridge();
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

async function pipe(input: Uint8Array, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(['pipe', ...args], { input, env: bridge.env });
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return stdout.toString().trim();
}

async function outcomeOf(runId: string): Promise<string> {
  const { stdout } = await runCli(['watch', runId, '-o', 'json'], { env: bridge.env });
  const last = stdout.toString().trim().split('\n').at(-1) ?? '';
  return JSON.parse(last).run_finished.outcome.replace('OUTCOME_', '');
}

describe('pipe and export', () => {
  for (const file of readdirSync(streamsDir).filter((name) => name.endsWith('.jsonl'))) {
    const isRefused = file.startsWith('16') && !file.startsWith('16i');
    const title = isRefused ? `say that ${file} was refused` : `give ${file} back byte for byte`;
    it(title, async () => {
      const input = readFileSync(join(streamsDir, file));
      const runId = await pipe(input, '--exit-code', '0');
      const { code, stdout, stderr } = await runCli(['export', runId], { env: bridge.env });
      expect(code).toBe(isRefused ? 65 : 0);
      if (isRefused) expect(stderr).toMatch(/refused/);
      else expect(stdout.equals(input)).toBe(true);
    });
  }

  it('give a line over the limit as an error, and all other lines', async () => {
    const header = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\n';
    const big = Buffer.alloc(17 * 1_048_576, 'x');
    const input = Buffer.concat([Buffer.from(header), big, Buffer.from(`\n${header}`)]);
    const runId = await pipe(input);
    const { code, stdout, stderr } = await runCli(['export', runId], { env: bridge.env });
    expect(code).toBe(65);
    expect(stderr).toMatch(/17825792 bytes/);
    expect(stdout.toString()).toBe(header + header);
  });

  it('resume where the bridge is when the connection is cut', async () => {
    await using way = await cutWay(bridge.address);
    const child = startCli(['pipe', '--exit-code', '0'], { HEP_BRIDGE_SERVER: way.address });
    const result = resultOf(child);
    const delta = `{"type":"message_delta","turn_id":1,"delta":"${'x'.repeat(1_000)}"}\n`;
    const parts = [readFileSync(join(streamsDir, '01-happy.jsonl'), 'utf8')];
    for (let at = 0; at < 5; at++) parts.push(delta.repeat(2_000));
    if (child.stdout === null) throw new Error('no stdout');
    const opened = once(child.stdout, 'data');
    for (const [at, part] of parts.entries()) {
      child.stdin?.write(part);
      if (at === 0) await opened;
      way.cut();
    }
    child.stdin?.end();
    const { code, stdout } = await result;
    expect(code).toBe(0);
    const exported = await runCli(['export', stdout.toString().trim()], { env: bridge.env });
    expect(exported.stdout.toString() === parts.join('')).toBe(true);
  });
});

describe('run', () => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['c01-exit-before-drain.sh', 0, 'COMPLETED'],
    ['c02-grandchild-holds-stdout.sh', 0, 'COMPLETED'],
    ['c05-stderr-flood.sh', 0, 'COMPLETED'],
    ['c08-exits-before-reading-stdin.sh', 1, 'FAILED'],
  ];
  for (const [file, exitCode, outcome] of cases) {
    it(`ends with ${exitCode} for ${file}, which is ${outcome}`, async () => {
      const { code, stderr } = await runCli(['run', '--', join(childrenDir, file)], {
        env: bridge.env,
      });
      expect(code).toBe(exitCode);
      expect(await outcomeOf(/^run (\S+)/m.exec(stderr)?.[1] ?? '')).toBe(outcome);
    });
  }

  it('stores what the stand-in agent writes, byte for byte', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'hep-journal-'));
    try {
      const journal = join(dir, 'journal.jsonl');
      const args = ['run', '--', agentFile, '--pace-ms', '0', '--journal', journal];
      const { code, stderr } = await runCli(args, { env: bridge.env });
      expect(code).toBe(0);
      const runId = /^run (\S+)/m.exec(stderr)?.[1] ?? '';
      const exported = await runCli(['export', runId], { env: bridge.env });
      expect(exported.stdout.equals(readFileSync(journal))).toBe(true);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('ends as FAILED when there is no such program', async () => {
    const { code, stdout } = await runCli(['run', '--', 'no-such-agent'], { env: bridge.env });
    expect(code).toBe(1);
    expect(stdout.toString()).toMatch(/FAILED \(SPAWN\).*no-such-agent/);
  });

  for (const [what, stop] of [
    ['Ctrl-C', 'signal'],
    ['hep-bridge cancel --wait', 'cancel'],
  ] as const) {
    it(`ends a polite agent as CANCELLED by ${what}`, async () => {
      const agent = join(childrenDir, 'c11-cancel-polite.mjs');
      const child = startCli(['run', '-o', 'json', '--', agent], bridge.env);
      const result = resultOf(child);
      const runId = await firstStart(child.stdout);
      if (stop === 'signal') {
        child.kill('SIGINT');
      } else {
        const args = ['cancel', runId, '--wait', '--reason', 'enough'];
        const cancelled = await runCli(args, { env: bridge.env });
        expect(cancelled.stdout.toString()).toMatch(/is over: CANCELLED/);
      }
      expect((await result).code).toBe(130);
      expect(await outcomeOf(runId)).toBe('CANCELLED');
    });
  }

  it('ends an agent that ignores signals at once on the second Ctrl-C', async () => {
    const agent = join(childrenDir, 'c09-ignores-int-term.sh');
    const child = startCli(['run', '-o', 'json', '--', agent], bridge.env);
    const result = resultOf(child);
    await firstStart(child.stdout);
    child.kill('SIGINT');
    await said(child.stderr, 'once more');
    child.kill('SIGINT');
    expect((await result).code).toBe(130);
  });
});

/** Resolves when `text` stands on `stream`. */
async function said(stream: NodeJS.ReadableStream | null, text: string): Promise<void> {
  let all = '';
  return new Promise((resolve) => {
    stream?.on('data', (chunk) => {
      all += chunk;
      if (all.includes(text)) resolve();
    });
  });
}

/** Run id of the first agent_start that stands on `stdout`. */
async function firstStart(stdout: NodeJS.ReadableStream | null): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    stdout?.on('data', (chunk) => {
      text += chunk;
      const line = text.split('\n').find((one) => one.includes('"agent_start"'));
      if (line?.endsWith('}')) resolve(JSON.parse(line).run_id);
    });
    stdout?.once('end', () => reject(new Error(`no agent_start: ${text}`)));
  });
}

describe('runs', () => {
  it('lists runs by label and state', async () => {
    const input = readFileSync(join(streamsDir, '01-happy.jsonl'));
    const runId = await pipe(input, '--label', 'team=runs-test');
    const args = ['runs', '--label', 'team=runs-test', '--state', 'finished', '--since', '1h'];
    const table = await runCli(args, { env: bridge.env });
    expect(table.stdout.toString()).toMatch(new RegExp(`^${runId} .*COMPLETED`, 'm'));
    const json = await runCli([...args, '-o', 'json'], { env: bridge.env });
    expect(JSON.parse(json.stdout.toString()).run_id).toBe(runId);
  });

  it('goes on with a page token', async () => {
    const first = await runCli(['runs', '--limit', '2', '-o', 'json'], { env: bridge.env });
    const token = /--page-token (\S+)/.exec(first.stderr)?.[1] ?? '';
    const args = ['runs', '--limit', '2', '--page-token', token, '-o', 'json'];
    const second = await runCli(args, { env: bridge.env });
    const ids = `${first.stdout}${second.stdout}`
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).run_id);
    expect(new Set(ids).size).toBe(4);
  });
});

describe('watch', () => {
  it('ends quietly when its reader goes', async () => {
    const input = readFileSync(join(streamsDir, '19-number-forms.jsonl'));
    const runId = await pipe(input);
    const child = startCli(['watch', runId], bridge.env);
    child.stdout?.destroy();
    expect(await resultOf(child)).toMatchObject({ code: 0, stderr: '' });
  });

  it('names a run that does not exist, with 66', async () => {
    const runId = '01a231bc-0000-747c-ad04-d960fda26d6a';
    const { code, stderr } = await runCli(['watch', runId], { env: bridge.env });
    expect(code).toBe(66);
    expect(stderr).toContain(runId);
  });
});

describe('serve', () => {
  it('says what is wrong in one line', async () => {
    const args = ['serve', '--listen', bridge.address, '--data-dir', bridge.dataDir];
    const { code, stderr } = await runCli([...args, '--log-level', 'silent']);
    expect(code).toBe(73);
    expect(stderr).toMatch(/^hep-bridge: data directory .* is in use by another bridge .*\n$/);
  });

  it('names the port in use and the flag, with 73', async () => {
    const starting = serveBridge(['--listen', bridge.address]);
    await expect(starting).rejects.toThrow(/ADDRESS_IN_USE.*port \d+ is in use.*--listen/);
  });

  it('refuses a wrong flag value before it opens anything', async () => {
    const { code, stderr } = await runCli(['serve', '--durability', 'none']);
    expect(code).toBe(78);
    expect(stderr).toMatch(/--durability: must be one of: process, power/);
  });

  for (const flag of ['--drain-limit', '--lost-after']) {
    it(`names ${flag} when its value is no duration`, async () => {
      const { code, stderr } = await runCli(['serve', flag, 'soon']);
      expect(code).toBe(78);
      expect(stderr).toContain(`${flag}: "soon" is not a duration such as 500ms`);
    });
  }

  it('ends with 0 on SIGTERM', async () => {
    await using own = await serveBridge();
    expect(await own.stop('SIGTERM')).toBe(0);
  });
});
