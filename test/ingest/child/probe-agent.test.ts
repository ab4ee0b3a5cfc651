import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentProbe, probeAgent } from '../../../src/ingest/child/probe-agent.js';
import { isDead, readProcStat } from '../../../src/ingest/child/proc-stat.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'hep-probe-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

interface Options {
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
}

function probe(argv: readonly string[], options: Options = {}): Promise<AgentProbe> {
  const env = { PATH: process.env.PATH ?? '', HEP: 'v1' };
  return probeAgent({
    argv,
    cwd,
    env,
    limitMs: options.limitMs ?? 20_000,
    signal: options.signal ?? new AbortController().signal,
  });
}

const sh = (script: string, options: Options = {}): Promise<AgentProbe> =>
  probe(['sh', '-c', script], options);

/** Whether the process whose pid stands in a file is gone. */
function isGone(name: string): boolean {
  const stat = readProcStat(Number(readFileSync(join(cwd, name), 'utf8')));
  return stat === undefined || isDead(stat);
}

describe('a probe', () => {
  it('tells what the agent printed', async () => {
    const script =
      'echo "{\\"version\\": \\"1.0.626\\", \\"hep\\": \\"$HEP\\", \\"more\\": 1}"; pwd >&2';
    expect(await sh(script)).toEqual({ version: '1.0.626', hep: 'v1' });
  });

  it.each([
    ['echo fa 1.0.626', /one JSON object/],
    ['true', /one JSON object/],
    [`echo '{"version": 1, "hep": "v1"}'`, /one JSON object/],
    [`echo '{"version": "1", "hep": "v1"}'; exit 3`, /exit code 3/],
    ['kill -9 $$', /SIGKILL/],
    ['yes', /more than 65536 bytes/],
  ])('of %j says why it failed', async (script, why) => {
    expect(await sh(script)).toEqual({ failed: expect.stringMatching(why) as string });
  });

  it('says what cannot be started', async () => {
    expect(await probe(['no-such-agent'])).toEqual({
      failed: 'program no-such-agent is not in PATH',
    });
    rmSync(cwd, { recursive: true });
    expect(await sh('true')).toEqual({ failed: `working directory ${cwd} does not exist` });
    cwd = mkdtempSync(join(tmpdir(), 'hep-probe-'));
    expect(await probe(['a\0b'])).toHaveProperty('failed');
  });

  it('that hangs is cut, with all that it started', async () => {
    const script = 'sleep 60 & echo $! > child; echo $$ > leader; wait';
    const failed = 'it did not end within 300 ms';
    expect(await sh(script, { limitMs: 300 })).toEqual({ failed });
    await expect.poll(() => isGone('leader')).toBe(true);
    await expect.poll(() => isGone('child')).toBe(true);
  });

  it('that leaves something behind has it ended, and does not wait for it', async () => {
    const script = `sleep 60 & echo $! > child; echo '{"version": "1", "hep": "v1"}'`;
    expect(await sh(script)).toEqual({ version: '1', hep: 'v1' });
    await expect.poll(() => isGone('child')).toBe(true);
  });

  it('ends with its signal', async () => {
    const stop = new AbortController();
    const asked = sh('sleep 60', { signal: stop.signal });
    stop.abort();
    expect(await asked).toEqual({ failed: 'the gateway stops' });
    expect(await sh('sleep 60', { signal: stop.signal })).toEqual({ failed: 'the gateway stops' });
  });
});
