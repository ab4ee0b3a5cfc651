import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import type { RunEvent } from '../src/client/bridge-client.js';
import {
  eventsOf,
  kindsOf,
  openTestGateway,
  type TestGateway,
  verdictOf,
} from './support/gateway.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}';
const POLITE = `trap 'echo "{\\"type\\":\\"cancelled\\",\\"turn_id\\":1}"; exit 130' INT`;
/** Sleeps in short steps, so that a trap is heeded at once. */
const WAIT = 'while :; do sleep 0.02; done';

let bridge: TestGateway;

beforeAll(async () => {
  bridge = await openTestGateway({ interruptGraceMs: 1_500, terminateGraceMs: 1_500 });
});
afterAll(() => bridge[Symbol.asyncDispose]());

async function start(...lines: readonly string[]): Promise<string> {
  const runId = uuidv7();
  await bridge.client.startRun({ runId, profile: 'long', prompt: lines.join('\n') });
  return runId;
}

/** Waits until the agent has said so on stderr. */
async function untilSaid(runId: string, text: string): Promise<void> {
  const request = { target: { case: 'runId' as const, value: runId }, includeStderr: true };
  for await (const { event } of bridge.client.subscribe(request)) {
    const { payload } = event;
    if (payload.case === 'stderrChunk' && Buffer.from(payload.value.data).includes(text)) return;
  }
}

function signalsOf(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap(({ event: { payload } }) =>
    payload.case === 'cancelSignalled' && payload.value.error === '' ? [payload.value.signal] : [],
  );
}

async function cancelAndRead(runId: string, extra: object = {}): Promise<readonly RunEvent[]> {
  await bridge.client.cancelRun({ runId, requestId: uuidv4(), ...extra });
  return await eventsOf(bridge.client, runId);
}

describe('a cancel', () => {
  it('before the process exists is not forgotten: the process gets its one SIGINT', async () => {
    const runId = uuidv7();
    const started = bridge.client.startRun({
      runId,
      profile: 'long',
      prompt: `echo '${HEADER}'\n${WAIT}`,
    });
    let answer: unknown;
    while (answer === undefined) {
      answer = await bridge.client.cancelRun({ runId, requestId: uuidv4() }).catch(() => undefined);
    }
    await started;
    const events = await eventsOf(bridge.client, runId);
    expect(signalsOf(events)[0]).toBe('SIGINT');
    expect(signalsOf(events).filter((signal) => signal === 'SIGINT')).toHaveLength(1);
    expect(verdictOf(await bridge.client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('before the header ends the run as cancelled', async () => {
    const runId = await start('echo booting >&2', WAIT);
    await untilSaid(runId, 'booting');
    const events = await cancelAndRead(runId);
    expect(signalsOf(events)[0]).toBe('SIGINT');
    expect(verdictOf(await bridge.client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('in the middle of a line keeps the line, which the agent still ends', async () => {
    const half = DELTA.slice(0, 20);
    const trap = `trap 'printf %s\\\\n "${DELTA.slice(20).replaceAll('"', '\\"')}"; exit 130' INT`;
    const runId = await start(trap, `echo '${HEADER}'; printf %s '${half}'`, 'echo half >&2', WAIT);
    await untilSaid(runId, 'half');
    const events = await cancelAndRead(runId);
    expect(kindsOf(events)).toContain('messageDelta');
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 130 });
  });

  it('after the terminal frame lets an agent that obeys complete', async () => {
    const runId = await start(
      `trap 'exit 0' INT`,
      `echo '${HEADER}'; echo '${DONE}'`,
      'echo done >&2',
      WAIT,
    );
    await untilSaid(runId, 'done');
    await cancelAndRead(runId, { reason: 'tab closed' });
    const run = await bridge.client.getRun(runId);
    expect(verdictOf(run)).toBe('COMPLETED / TURN_DONE');
    expect(run.cancelCause).toBe(CancelCause.CALLER);
    expect(run.detail).toBe('exit 0; its end was asked for: tab closed');
  });

  it('of a run that is over, or that never was, says so', async () => {
    const runId = await start(`echo '${HEADER}'; echo '${DONE}'`);
    await eventsOf(bridge.client, runId);
    const answer = await bridge.client.cancelRun({ runId, requestId: uuidv4() });
    expect(answer).toMatchObject({ requestedSequence: 0n, run: { state: Run_State.FINISHED } });
    const unknown = bridge.client.cancelRun({ runId: uuidv7(), requestId: uuidv4() });
    await expect(unknown).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('that comes as the agent ends finds one end, whoever is first', async () => {
    const runs = Array.from({ length: 24 }, async (_, at) => {
      const runId = await start(`echo '${HEADER}'; sleep 0.${10 + at}; echo '${DONE}'`);
      await new Promise((resolve) => setTimeout(resolve, 180));
      const events = await cancelAndRead(runId);
      const kinds = kindsOf(events);
      expect(kinds.filter((kind) => kind === 'runFinished')).toHaveLength(1);
      expect(kinds.at(-1)).toBe('runFinished');
      expect(signalsOf(events).filter((signal) => signal === 'SIGINT').length).toBeLessThan(2);
      return verdictOf(await bridge.client.getRun(runId));
    });
    for (const verdict of await Promise.all(runs)) {
      expect(['COMPLETED / TURN_DONE', 'CANCELLED / CANCEL_SIGNALLED']).toContain(verdict);
    }
  });

  it('of an agent that dies exactly as it is signalled says how it died', async () => {
    const runId = await start(`trap 'kill -9 $$' INT`, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const events = await cancelAndRead(runId);
    expect(signalsOf(events)).toEqual(['SIGINT']);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ signal: 'SIGKILL' });
    expect(verdictOf(await bridge.client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  });

  it('kills what an agent leaves in its group, counts it, and reports what left the group', async () => {
    const runId = await start(
      POLITE,
      `echo '${HEADER}'`,
      '(trap "" INT TERM; sleep 30) & (trap "" INT TERM; sleep 30) &',
      'setsid sh -c "sleep 2" & echo up >&2',
      WAIT,
    );
    await untilSaid(runId, 'up');
    const events = await cancelAndRead(runId);
    const last = events.at(-1)?.event.payload;
    if (last?.case !== 'runFinished') throw new Error('no end');
    expect(last.value.exitCode).toBe(130);
    expect(last.value.leftoverProcesses).toBeGreaterThanOrEqual(2);
    expect(last.value.detail).toMatch(/processes left its group/);
  });
});

describe('a cancel with force', () => {
  it('skips the first grace', async () => {
    const runId = await start(`trap '' INT`, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const events = await cancelAndRead(runId, { force: true });
    expect(signalsOf(events).slice(0, 2)).toEqual(['SIGINT', 'SIGTERM']);
    const at = events.filter(({ event }) => event.payload.case === 'cancelSignalled');
    expect((at[1]?.timeUs ?? 0) - (at[0]?.timeUs ?? 0)).toBeLessThan(1_000_000);
    const asked = events.find(({ event }) => event.payload.case === 'cancelRequested');
    expect(asked?.event.payload.value).toMatchObject({ force: true });
  });

  it('hurries one that is under way, and sends no signal twice', async () => {
    const runId = await start(`trap '' INT TERM`, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const first = { runId, requestId: uuidv4(), interruptGrace: durationFromMs(60_000) };
    const second = { runId, requestId: uuidv4(), force: true, terminateGrace: durationFromMs(200) };
    await bridge.client.cancelRun({ ...first, terminateGrace: durationFromMs(60_000) });
    await bridge.client.cancelRun(second);
    const events = await eventsOf(bridge.client, runId);
    expect(signalsOf(events)).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL']);
    const served = events.flatMap(({ event: { payload } }) =>
      payload.case === 'cancelSignalled' ? [payload.value.requestId] : [],
    );
    expect(served).toEqual([first.requestId, second.requestId, second.requestId]);
  }, 20_000);

  it('takes the shortest of several graces', async () => {
    const runId = await start(`trap '' INT TERM`, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const cancel = (interruptMs: number, terminateMs: number): Promise<unknown> =>
      bridge.client.cancelRun({
        runId,
        requestId: uuidv4(),
        interruptGrace: durationFromMs(interruptMs),
        terminateGrace: durationFromMs(terminateMs),
      });
    await Promise.all([cancel(60_000, 100), cancel(100, 60_000), cancel(60_000, 60_000)]);
    const events = await eventsOf(bridge.client, runId);
    expect(signalsOf(events)).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL']);
    const kinds = kindsOf(events);
    expect(kinds.filter((kind) => kind === 'cancelRequested')).toHaveLength(3);
  }, 20_000);
});

describe('a cancel that waits', () => {
  it('answers with the end', async () => {
    const runId = await start(POLITE, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const wait = durationFromMs(20_000);
    const answer = await bridge.client.cancelRun({ runId, requestId: uuidv4(), wait });
    expect(answer.run?.state).toBe(Run_State.FINISHED);
    expect(answer.requestedSequence).toBeGreaterThan(0n);
  });

  it('answers with the run as it is when the time is over', async () => {
    const runId = await start(`trap '' INT TERM`, `echo '${HEADER}'`, 'echo up >&2', WAIT);
    await untilSaid(runId, 'up');
    const wait = durationFromMs(100);
    const answer = await bridge.client.cancelRun({ runId, requestId: uuidv4(), wait });
    expect(answer.run).toMatchObject({ state: Run_State.RUNNING, cancelRequested: true });
    await cancelAndRead(runId, { force: true, terminateGrace: durationFromMs(50) });
  });

  it('refuses a grace or a wait that is none', async () => {
    const runId = uuidv7();
    const bad = { runId, requestId: uuidv4(), wait: durationFromMs(4_000_000) };
    await expect(bridge.client.cancelRun(bad)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    const negative = { runId, requestId: uuidv4(), interruptGrace: durationFromMs(-1) };
    await expect(bridge.client.cancelRun(negative)).rejects.toThrow(/interrupt_grace/);
  });
});
