import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  IngestChunkSchema,
  IngestExitSchema,
  IngestOpenSchema,
  type IngestRequest,
  IngestRequestSchema,
  IngestSignalledSchema,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import {
  eventsOf,
  openTestGateway,
  profileOf,
  type TestGateway,
  verdictOf,
} from './support/gateway.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
const LIVENESS =
  '{"type":"tool_liveness","turn_id":1,"id":"c","name":"bash","action":"heartbeat","elapsed_ms":1}';
const TOOL_DONE =
  '{"type":"turn_done","turn_id":1,"message":"","tool_results":[],"usage":{"input":600,"output":5,"cost":0.25},"stop_reason":"toolUse"}';
const POLITE = `trap 'echo "{\\"type\\":\\"cancelled\\",\\"turn_id\\":1}"; exit 130' INT`;
const WAIT = 'while :; do sleep 0.02; done';

let bridge: TestGateway;

beforeAll(async () => {
  const sh = ['sh', '{prompt_file}'];
  const profiles = {
    sh: profileOf(sh),
    tight: profileOf(sh, { policies: { maxEvents: 20, stallMs: 60_000 } }),
  };
  bridge = await openTestGateway({ profiles });
});
afterAll(() => bridge[Symbol.asyncDispose]());

interface Ending {
  readonly actor: string;
  readonly reason: string;
  readonly cause: string | undefined;
  readonly verdict: string;
  readonly detail: string;
}

async function endOf(policies: object, ...script: readonly string[]): Promise<Ending> {
  const runId = uuidv7();
  const prompt = [POLITE, ...script].join('\n');
  await bridge.client.startRun({ runId, profile: 'sh', prompt, ...policies });
  return await read(runId);
}

async function read(runId: string): Promise<Ending> {
  const events = await eventsOf(bridge.client, runId);
  const asked = events.find(({ event }) => event.payload.case === 'cancelRequested')?.event.payload;
  if (asked?.case !== 'cancelRequested') throw new Error('nobody asked for its end');
  const { actor, reason } = asked.value;
  const run = await bridge.client.getRun(runId);
  const { detail, cancelCause } = run;
  return { actor, reason, cause: CancelCause[cancelCause], verdict: verdictOf(run), detail };
}

const CANCELLED = 'CANCELLED / CANCEL_SIGNALLED';

describe('a run that reaches its policy', () => {
  it('of no frame for so long is cancelled as STALLED; tool_liveness is life', async () => {
    const policies = { stall: durationFromMs(900) };
    const alive = `i=0; while [ $i -lt 8 ]; do echo '${LIVENESS}'; sleep 0.2; i=$((i+1)); done`;
    const end = await endOf({ policies }, `echo '${HEADER}'`, alive, WAIT);
    expect(end).toMatchObject({ actor: 'policy:stall', cause: 'STALLED', verdict: CANCELLED });
    expect(end.detail).toBe(
      'cancelled: exit 130; its end was asked for by policy:stall: no frame for 900 ms',
    );
  });

  it('of a header in time is cancelled as NO_HEADER', async () => {
    const policies = { headerWithin: durationFromMs(300) };
    const end = await endOf({ policies }, `trap 'exit 130' INT`, WAIT);
    expect(end).toMatchObject({ actor: 'policy:header', cause: 'NO_HEADER', verdict: CANCELLED });
  });

  it('of tokens, or of cost, is cancelled as BUDGET', async () => {
    const script = [`echo '${HEADER}'`, `echo '${TOOL_DONE}'`, WAIT];
    const tokens = await endOf({ policies: { maxTokens: 604n } }, ...script);
    expect(tokens).toMatchObject({ actor: 'policy:tokens', cause: 'BUDGET', verdict: CANCELLED });
    expect(tokens.reason).toBe('605 tokens, the limit is 604');
    const cost = await endOf({ policies: { maxCost: 0.2 } }, ...script);
    expect(cost).toMatchObject({ actor: 'policy:cost', cause: 'BUDGET' });
  });

  it('of events, or of bytes, is cancelled as SIZE', async () => {
    const flood = `while :; do echo '${DELTA}'; done`;
    const events = await endOf({ policies: { maxEvents: 50n } }, `echo '${HEADER}'`, flood);
    expect(events).toMatchObject({ actor: 'policy:events', cause: 'SIZE', verdict: CANCELLED });
    const bytes = await endOf({ policies: { maxStdoutBytes: 9_000n } }, `echo '${HEADER}'`, flood);
    expect(bytes).toMatchObject({ actor: 'policy:bytes', cause: 'SIZE', verdict: CANCELLED });
  });

  it('of its profile is held to it, whatever the call asks for', async () => {
    const runId = uuidv7();
    const prompt = [POLITE, `echo '${HEADER}'`, `while :; do echo '${DELTA}'; done`].join('\n');
    const policies = { maxEvents: 1_000_000n };
    await bridge.client.startRun({ runId, profile: 'tight', prompt, policies });
    expect((await read(runId)).reason).toMatch(/events, the limit is 20$/);
  });
});

describe('policies that are none', () => {
  it('are refused by name', async () => {
    const policies = { stall: durationFromMs(-5), maxEvents: -1n };
    const start = bridge.client.startRun({ runId: uuidv7(), profile: 'sh', policies });
    await expect(start).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      fields: [{ field: 'policies.stall' }, { field: 'policies.max_events' }],
    });
  });
});

describe("a client's run that reaches its policy", () => {
  it('has its client told to cancel, and ends with the policy named', async () => {
    const runId = uuidv7();
    const requests = createWakeableRequests();
    const policies = { maxEvents: 10n };
    requests.send({ case: 'open', value: create(IngestOpenSchema, { runId, policies }) });
    let told = '';
    for await (const { message } of bridge.client.ingest(requests.stream())) {
      if (message.case === 'opened') {
        const data = Buffer.from(`${HEADER}\n${`${DELTA}\n`.repeat(20)}`);
        requests.send({ case: 'stdout', value: create(IngestChunkSchema, { data }) });
      }
      if (message.case === 'cancel') {
        told = message.value.requestId;
        const signalled = { requestId: told, signal: 'SIGINT' };
        requests.send({ case: 'signalled', value: create(IngestSignalledSchema, signalled) });
        const stdoutBytes = BigInt(HEADER.length + 1 + 20 * (DELTA.length + 1));
        requests.send({
          case: 'exit',
          value: create(IngestExitSchema, { exitCode: 130, stdoutBytes }),
        });
      }
    }
    const end = await read(runId);
    expect(told).not.toBe('');
    expect(end).toMatchObject({ actor: 'policy:events', cause: 'SIZE', verdict: CANCELLED });
  });
});

/** Requests of an Ingest call, sent as the test goes. */
function createWakeableRequests(): {
  send(message: IngestRequest['message']): void;
  stream(): AsyncIterable<IngestRequest>;
} {
  const waiting: IngestRequest['message'][] = [];
  let wake = (): void => undefined;
  return {
    send(message) {
      waiting.push(message);
      wake();
    },
    async *stream() {
      for (;;) {
        const message = waiting.shift();
        if (message !== undefined) yield create(IngestRequestSchema, { message });
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
