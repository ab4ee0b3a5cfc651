import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BridgeClient } from '../../src/client/bridge-client.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { untilHandlesInterrupt } from '../support/signal-handler.js';
import { type CliResult, childrenDir, runCli, type ServedBridge, serveBridge } from './cli.js';

const configDir = mkdtempSync(join(tmpdir(), 'hep-cli-config-'));
let bridge: ServedBridge;
let client: BridgeClient;
beforeAll(async () => {
  const config = join(configDir, 'bridge.json');
  const profileOf = (file: string): object => ({ command: [join(childrenDir, file)] });
  const profiles = {
    polite: profileOf('c11-cancel-polite.mjs'),
    stubborn: profileOf('c09-ignores-int-term.sh'),
  };
  writeFileSync(config, JSON.stringify({ profiles }));
  bridge = await serveBridge(['--config', config]);
  client = connectBridge(bridge.address);
});
afterAll(async () => {
  await client.close();
  await bridge[Symbol.asyncDispose]();
  rmSync(configDir, { recursive: true });
});

/** A run whose agent has begun its round. */
async function start(profile: 'polite' | 'stubborn'): Promise<string> {
  const runId = uuidv7();
  await client.startRun({ runId, profile });
  for await (const { event } of client.subscribe({ target: { case: 'runId', value: runId } })) {
    if (event.payload.case === 'agentStart') break;
  }
  if (profile === 'polite') await untilHandlesInterrupt(bridge.dataDir, runId);
  return runId;
}

function cancel(runId: string, ...args: string[]): Promise<CliResult> {
  return runCli(['cancel', runId, ...args], { env: bridge.env });
}

/** Stages, without the request's id, and the seconds that stand before each. */
function stagesOf(stderr: string): { readonly texts: string[]; readonly seconds: number[] } {
  const lines = stderr.trimEnd().split('\n');
  const parts = lines.map((line) => /^ *\+(\d+\.\d)s {2}(.*)$/.exec(line) ?? []);
  return {
    texts: parts.map(([, , text = '?']) => text.replace(/\([0-9a-f-]{36}\)/, '(ID)')),
    seconds: parts.map(([, seconds]) => Number(seconds)),
  };
}

describe('cancel', () => {
  it('tells with --wait the stages as they happen, and the end', async () => {
    const runId = await start('polite');
    const { code, stdout, stderr } = await cancel(runId, '--wait', '--reason', 'enough');
    expect(code).toBe(0);
    expect(stagesOf(stderr).texts).toEqual(['requested (ID)', 'SIGINT sent']);
    expect(stdout.toString()).toBe(
      `run ${runId} is over: CANCELLED (CANCEL_SIGNALLED): cancelled: exit 130; ` +
        'its end was asked for: enough\n',
    );
  });

  it('goes by the graces that it was given, up to SIGKILL', async () => {
    const runId = await start('stubborn');
    const graces = ['--interrupt-grace', '400ms', '--terminate-grace', '0.3s'];
    const { code, stdout, stderr } = await cancel(runId, '--wait', '60s', ...graces);
    expect(code).toBe(0);
    const { texts, seconds } = stagesOf(stderr);
    expect(texts).toEqual([
      'requested (ID)',
      'SIGINT sent',
      'SIGTERM sent',
      'SIGKILL sent to the process group',
    ]);
    expect(seconds[0]).toBe(0);
    expect(seconds[2]).toBeGreaterThanOrEqual(0.4);
    expect(seconds[3]).toBeGreaterThanOrEqual(0.7);
    expect(stdout.toString()).toMatch(/ is over: CANCELLED .*: cancelled: ended by SIGKILL/);
  });

  it('gives the run as it is when the time of --wait is over', async () => {
    const runId = await start('stubborn');
    const { code, stdout, stderr } = await cancel(runId, '--wait', '500ms');
    expect(code).toBe(0);
    expect(stagesOf(stderr).texts).toEqual(['requested (ID)', 'SIGINT sent']);
    expect(stdout.toString()).toBe(`run ${runId} was asked to end, and is still running\n`);
    const json = await cancel(runId, '--wait', '0s', '-o', 'json');
    expect(JSON.parse(json.stdout.toString())).toMatchObject({ state: 'STATE_RUNNING' });
    await cancel(runId, '--force', '--terminate-grace', '0s', '--wait');
  });

  it('hurries with --force a cancel that is under way', async () => {
    const runId = await start('stubborn');
    const asked = await cancel(runId);
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    expect(asked.stdout.toString()).toBe(`run ${runId} was asked to end\n`);
    const runs = await runCli(['runs', '--state', 'running'], { env: bridge.env });
    expect(runs.stdout.toString()).toMatch(
      new RegExp(`^${runId} +running +\\d+s +\\d+s ago +\\d+ +[0-9a-f]{8} +- +cancelling$`, 'm'),
    );
    const forced = await cancel(runId, '--force', '--terminate-grace', '200ms', '--wait');
    expect(forced.code).toBe(0);
    const { texts, seconds } = stagesOf(forced.stderr);
    expect(texts).toEqual([
      'requested (ID) with force',
      'SIGTERM sent',
      'SIGKILL sent to the process group',
    ]);
    expect(seconds[1]).toBeLessThan(5);
    expect(forced.stdout.toString()).toMatch(/ is over: CANCELLED .*: cancelled: ended by SIGKILL/);
  });

  it('says of a run that is over that it was before', async () => {
    const runId = await start('polite');
    await cancel(runId, '--wait');
    const { code, stdout, stderr } = await cancel(runId, '--wait');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.toString()).toMatch(
      `run ${runId} was over before: CANCELLED (CANCEL_SIGNALLED): cancelled: exit 130`,
    );
  });

  it('writes the run as one JSON line, and no stages', async () => {
    const runId = await start('polite');
    const { stdout, stderr } = await cancel(runId, '--force', '--wait', '-o', 'json');
    expect(stderr).toBe('');
    expect(JSON.parse(stdout.toString())).toMatchObject({
      run_id: runId,
      state: 'STATE_FINISHED',
      outcome: 'OUTCOME_CANCELLED',
      cancel_cause: 'CANCEL_CAUSE_CALLER',
    });
  });

  it('refuses what is no duration, and says where --wait stands', async () => {
    const runId = uuidv7();
    const wrongGrace = await cancel(runId, '--interrupt-grace', '2h');
    expect(wrongGrace.code).toBe(64);
    expect(wrongGrace.stderr).toMatch(/--interrupt-grace.*a duration such as 500ms.*at most 1h/);
    const eaten = await runCli(['cancel', '--wait', runId], { env: bridge.env });
    expect(eaten.code).toBe(64);
    expect(eaten.stderr).toMatch(/--wait.*put --wait behind the run/);
  });
});

describe('serve --on-stop drain', () => {
  it('waits for live runs up to --drain-limit, then cancels what is left', async () => {
    const config = join(configDir, 'drain.json');
    const profiles = { polite: { command: [join(childrenDir, 'c11-cancel-polite.mjs')] } };
    writeFileSync(config, JSON.stringify({ profiles }));
    const flags = ['--on-stop', 'drain', '--drain-limit', '1s'];
    await using drained = await serveBridge(['--config', config, ...flags]);
    const runId = uuidv7();
    await using own = connectBridge(drained.address);
    await own.startRun({ runId, profile: 'polite' });
    const startedMs = performance.now();
    expect(await drained.stop('SIGTERM')).toBe(0);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(1_000);
    await drained.restart();
    const { stdout } = await runCli(['runs', '-o', 'json'], { env: drained.env });
    expect(JSON.parse(stdout.toString())).toMatchObject({
      run_id: runId,
      outcome: 'OUTCOME_CANCELLED',
      cancel_cause: 'CANCEL_CAUSE_SHUTDOWN',
    });
  });
});
