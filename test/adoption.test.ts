import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterEach, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { connectBridge } from '../src/client/connect-bridge.js';
import { eventsOf, kindsOf, rebuildSource, temporaryDir, verdictOf } from './support/gateway.js';
import { ingestBytes } from './support/ingest-bytes.js';
import { type ServedBridge, serveBridge } from './support/served-bridge.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}';

let cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** A bridge that ends with the test. */
async function serve(
  dataDir: string,
  reconnectWindow = '60s',
  ...args: readonly string[]
): Promise<ServedBridge> {
  const config = [`reconnect_window: ${reconnectWindow}`];
  const served = await serveBridge({ dataDir, config, args });
  cleanUps.push(() => served.kill('SIGKILL'));
  return served;
}

/** A data directory whose nats-server and keeper end with the test. */
function newDataDir(): string {
  const dataDir = temporaryDir();
  cleanUps.push(async () => {
    const last = await serve(dataDir);
    await last.kill('SIGTERM');
    rmSync(dataDir, { recursive: true, force: true });
  });
  return dataDir;
}

describe('a bridge that is killed and started again on its data directory', () => {
  it('goes on with a run that lives, in sequence, without loss', async () => {
    const dataDir = newDataDir();
    const before = await serve(dataDir);
    const runId = uuidv7();
    const gate = join(dataDir, 'gate');
    const delta = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
    const script = [
      `echo '${HEADER}'`,
      `i=0; while [ $i -lt 500 ]; do echo '${delta}'; i=$((i+1)); done`,
      `while [ ! -e ${gate} ]; do echo '${delta}'; sleep 0.01; done`,
      `echo '${DONE}'`,
      'exit 0',
    ].join('\n');
    const first = connectBridge(before.address);
    await first.startRun({ runId, profile: 'sh', prompt: script });
    const request = { target: { case: 'runId' as const, value: runId } };
    for await (const { sequence } of first.subscribe(request)) if (sequence > 100) break;
    await before.kill('SIGKILL');
    await first.close();
    const after = await serve(dataDir);
    writeFileSync(gate, '');
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    const events = await eventsOf(client, runId);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    const source = rebuildSource(events).toString();
    expect(source.startsWith(`${HEADER}\n${delta}\n`)).toBe(true);
    expect(
      source
        .split('\n')
        .slice(1, -2)
        .every((line) => line === delta),
    ).toBe(true);
    expect(source.endsWith(`${DONE}\n`)).toBe(true);
    const run = await client.getRun(runId);
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    expect(run.session).toBe('s');
  });

  it('knows how a run ended meanwhile, and every byte that it wrote', async () => {
    const dataDir = newDataDir();
    const before = await serve(dataDir);
    const runId = uuidv7();
    const gate = join(dataDir, 'gate');
    const script = `echo '${HEADER}'\nwhile [ ! -e ${gate} ]; do sleep 0.01; done\necho '${DONE}'\necho done > ${gate}.out\nexit 7`;
    const first = connectBridge(before.address);
    await first.startRun({ runId, profile: 'sh', prompt: script });
    await before.kill('SIGKILL');
    await first.close();
    writeFileSync(gate, '');
    await expect
      .poll(
        () => {
          try {
            return readFileSync(`${gate}.out`, 'utf8');
          } catch {
            return '';
          }
        },
        { timeout: 5_000 },
      )
      .toBe('done\n');
    const after = await serve(dataDir);
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    const events = await eventsOf(client, runId);
    expect(rebuildSource(events).toString()).toBe(`${HEADER}\n${DONE}\n`);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 7 });
  });

  it('goes on with a cancel, and sends no second SIGINT', async () => {
    const dataDir = newDataDir();
    const before = await serve(dataDir);
    const runId = uuidv7();
    const script = `trap 'echo int >&2' INT\ntrap '' TERM\necho '${HEADER}'\nwhile :; do sleep 0.05; done`;
    const first = connectBridge(before.address);
    await first.startRun({ runId, profile: 'sh', prompt: script });
    const request = { target: { case: 'runId' as const, value: runId } };
    for await (const { event } of first.subscribe(request)) {
      if (event.payload.case === 'hepHeader') break;
    }
    await first.cancelRun({ runId, requestId: uuidv4(), reason: 'test' });
    for await (const { event } of first.subscribe(request)) {
      if (event.payload.case === 'cancelSignalled') break;
    }
    await before.kill('SIGKILL');
    await first.close();
    const after = await serve(dataDir);
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    const events = await eventsOf(client, runId);
    const kinds = kindsOf(events);
    expect(kinds.filter((kind) => kind === 'cancelRequested')).toHaveLength(1);
    const finished = events.at(-1)?.event.payload;
    expect(finished?.case === 'runFinished' && finished.value.signal).toBe('SIGKILL');
    const stderr = events.flatMap(({ event: { payload } }) =>
      payload.case === 'stderrChunk' ? [Buffer.from(payload.value.data).toString()] : [],
    );
    expect(stderr.join('')).toBe('int\n');
    expect(verdictOf(await client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it("takes a client's stream up again at the stored offset, with the answer it had", async () => {
    const dataDir = newDataDir();
    const stdout = Buffer.from(`${HEADER}\n${DONE}\n{"type":"compaction_start","turn_id":2}\n`);
    const runId = uuidv7();
    const before = await serve(dataDir);
    const first = connectBridge(before.address);
    await ingestBytes(first, { runId, stdout: stdout.subarray(0, stdout.length - 7), leave: true });
    await before.kill('SIGKILL');
    await first.close();
    const after = await serve(dataDir);
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    const run = await ingestBytes(client, { runId, stdout, exitCode: 0 });
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    const events = await eventsOf(client, runId);
    expect(rebuildSource(events).equals(stdout)).toBe(true);
    expect(kindsOf(events)).toEqual([
      'runStarted',
      'hepHeader',
      'turnDone',
      'compactionStart',
      'runFinished',
    ]);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ answer: 'hi', answerSequence: 3n });
  });

  it("ends a client's run as LOST when the client does not come back", async () => {
    const dataDir = newDataDir();
    const runId = uuidv7();
    const before = await serve(dataDir);
    const first = connectBridge(before.address);
    await ingestBytes(first, { runId, stdout: Buffer.from(`${HEADER}\n`), leave: true });
    await before.kill('SIGKILL');
    await first.close();
    const after = await serve(dataDir, '500ms');
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    const events = await eventsOf(client, runId);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ synthetic: true });
    expect(verdictOf(await client.getRun(runId))).toBe('LOST / OWNER_GONE');
  });

  it('refuses a second bridge on the directory, and names the holder', async () => {
    const dataDir = newDataDir();
    await serve(dataDir);
    await expect(serve(dataDir)).rejects.toThrow('DATA_DIR_IN_USE');
  });

  it('leaves agents to the next bridge when told so', async () => {
    const dataDir = newDataDir();
    const before = await serve(dataDir, '60s', '--on-stop', 'leave');
    const runId = uuidv7();
    const first = connectBridge(before.address);
    await first.startRun({
      runId,
      profile: 'sh',
      prompt: `echo '${HEADER}'\nsleep 1\necho '${DONE}'`,
    });
    await first.close();
    await before.kill('SIGTERM');
    const after = await serve(dataDir);
    const client = connectBridge(after.address);
    cleanUps.push(() => client.close());
    await eventsOf(client, runId);
    const run = await client.getRun(runId);
    expect(run.state).toBe(Run_State.FINISHED);
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
  });
});
