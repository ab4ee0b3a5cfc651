import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutputMode } from '#gen/hep/bridge/v1/run_service_pb.js';
import {
  eventsOf,
  openTestGateway,
  profileOf,
  type TestGateway,
  temporaryDir,
  verdictOf,
} from './support/gateway.js';

const SECRET = 'sk-very-secret-0123456789';
const secretFile = join(temporaryDir(), 'secret');

/** An agent that prints its arguments and its API_KEY's length in its one message. */
const TELLS = [
  'sh',
  '-c',
  `printf '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\\n{"type":"turn_done","turn_id":1,"message":"%s|%s","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}\\n' "$*" "\${#API_KEY}"; [ -z "$HOLD" ] || sleep 2`,
  'agent',
  '--output',
  '{output}',
];
const says = (text: string): readonly string[] => ['sh', '-c', `printf '%s' '${text}'`];

let bridge: TestGateway;

beforeAll(async () => {
  writeFileSync(secretFile, `${SECRET}\n`);
  const session = { flag: '--session', pattern: /^[a-z][a-z0-9-]{0,7}$/ };
  const none = { prompt: 'none' as const };
  bridge = await openTestGateway({
    profiles: {
      tells: profileOf(TELLS, { ...none, session }),
      plain: profileOf(['sh', '-c', 'true'], none),
      secret: profileOf(TELLS, {
        ...none,
        envFiles: { API_KEY: secretFile },
        envSet: { HOLD: '1' },
      }),
      lost: profileOf(TELLS, { ...none, envFiles: { API_KEY: '/no/such/secret' } }),
      v1: profileOf(TELLS, { ...none, probe: says('{"version":"1.2.3","hep":"v1"}') }),
      v2: profileOf(TELLS, { ...none, probe: says('{"version":"9.9.9","hep":"v2"}') }),
      mute: profileOf(TELLS, { ...none, probe: says('hello') }),
    },
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

async function answerOf(request: object): Promise<string> {
  const runId = uuidv7();
  await bridge.client.startRun({ runId, ...request });
  const last = (await eventsOf(bridge.client, runId)).at(-1)?.event.payload;
  return last?.case === 'runFinished' ? (last.value.answer ?? '') : '';
}

describe('a start', () => {
  it('gives the agent its session and output mode, as the profile has them', async () => {
    expect(await answerOf({ profile: 'tells' })).toBe('--output events|0');
    const request = { profile: 'tells', session: 'talk-7', outputMode: OutputMode.EVENTS_FULL };
    expect(await answerOf(request)).toBe('--output events=full --session talk-7|0');
  });

  it('refuses a session or mode that the profile does not take, by name', async () => {
    const start = (request: object): Promise<unknown> =>
      bridge.client.startRun({ runId: uuidv7(), ...request });
    const field = (name: string): object => ({
      code: 'INVALID_REQUEST',
      fields: [{ field: name }],
    });
    await expect(start({ profile: 'plain', session: 'x' })).rejects.toMatchObject(field('session'));
    const bad = start({ profile: 'tells', session: '--flag' });
    await expect(bad).rejects.toMatchObject(field('session'));
    const mode = start({ profile: 'plain', outputMode: OutputMode.EVENTS });
    await expect(mode).rejects.toMatchObject(field('output_mode'));
    await expect(start({ profile: 'tells', outputMode: 77 })).rejects.toThrow(/no mode 77/);
  });

  it('with the same id and another session, mode or policy is another request', async () => {
    const request = { runId: uuidv7(), profile: 'tells', session: 'a' };
    await bridge.client.startRun(request);
    expect((await bridge.client.startRun(request)).existed).toBe(true);
    for (const other of [{ session: 'b' }, { outputMode: 2 }, { policies: { maxEvents: 5n } }]) {
      const again = bridge.client.startRun({ ...request, ...other });
      await expect(again).rejects.toMatchObject({ code: 'RUN_EXISTS' });
    }
  });
});

describe('a secret in a file', () => {
  it('reaches the agent, and stands nowhere in the data directory', async () => {
    const runId = uuidv7();
    await bridge.client.startRun({ runId, profile: 'secret' });
    const found = filesUnder(bridge.dataDir).filter((file) => readFileSync(file).includes(SECRET));
    expect(found).toEqual([]);
    expect(filesUnder(join(bridge.dataDir, 'spool', runId)).length).toBeGreaterThan(2);
    const events = await eventsOf(bridge.client, runId);
    expect(events.at(-1)?.event.payload.value).toMatchObject({
      answer: `--output events|${SECRET.length}`,
    });
  });

  it('that cannot be read refuses the start, and names variable, file and remedy', async () => {
    const runId = uuidv7();
    const start = bridge.client.startRun({ runId, profile: 'lost' });
    await expect(start).rejects.toMatchObject({ code: 'PROFILE_UNUSABLE' });
    await expect(start).rejects.toThrow(/\/no\/such\/secret for API_KEY does not exist.*env_files/);
    await expect(bridge.client.getRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

describe('a probe', () => {
  it('lets an agent of HEP v1 start, and one that does not say', async () => {
    expect(await answerOf({ profile: 'v1' })).toBe('--output events|0');
    expect(await answerOf({ profile: 'mute' })).toBe('--output events|0');
  });

  it('refuses another major version before a run is made', async () => {
    const runId = uuidv7();
    const start = bridge.client.startRun({ runId, profile: 'v2' });
    await expect(start).rejects.toMatchObject({ code: 'AGENT_UNSUPPORTED' });
    await expect(start).rejects.toThrow(/version 9\.9\.9.*HEP v2/);
    await expect(bridge.client.getRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('is made again when the profiles are reloaded', async () => {
    const none = { prompt: 'none' as const };
    const profiles = {
      v3: profileOf(TELLS, { ...none, probe: says('{"version":"3.0","hep":"v3"}') }),
    };
    await using other = await openTestGateway({ profiles });
    const start = (): Promise<unknown> => other.client.startRun({ runId: uuidv7(), profile: 'v3' });
    await expect(start()).rejects.toMatchObject({ code: 'AGENT_UNSUPPORTED' });
    other.gateway.reloadProfiles({
      v3: profileOf(TELLS, { ...none, probe: says('{"version":"1.4","hep":"v1.4"}') }),
    });
    await start();
    other.gateway.reloadProfiles({});
    await expect(start()).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
  });
});

describe('the rate of starts', () => {
  it('is kept, and a start that is known costs nothing', async () => {
    const profiles = { tells: profileOf(TELLS, { prompt: 'none' }) };
    await using slow = await openTestGateway({ profiles, maxStartsPerSecond: 1 });
    const request = { runId: uuidv7(), profile: 'tells' };
    await slow.client.startRun(request);
    for (let n = 0; n < 5; n += 1) await slow.client.startRun(request);
    const next = slow.client.startRun({ runId: uuidv7(), profile: 'tells' });
    await expect(next).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
    await eventsOf(slow.client, request.runId);
    expect(verdictOf(await slow.client.getRun(request.runId))).toBe('COMPLETED / TURN_DONE');
    const cancel = await slow.client.cancelRun({ runId: request.runId, requestId: uuidv4() });
    expect(cancel.requestedSequence).toBe(0n);
  });
});

function filesUnder(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}
