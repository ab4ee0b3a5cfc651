import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  SubscribeRequestSchema,
  SubscribeResponse,
} from '#gen/hep/bridge/v1/event_service_pb.js';
import { StartPosition } from '#gen/hep/bridge/v1/event_service_pb.js';
import type { RunEvent } from '../../src/client/bridge-client.js';
import { STREAM } from '../../src/log/names.js';
import { delta, stderr, toolStart, turnDone } from './run-feed.js';
import { type Gateway, type ServeFixture, startFixture } from './serve-fixture.js';

let fixture: ServeFixture;
let gateway: Gateway;

beforeAll(async () => {
  fixture = await startFixture();
  gateway = await fixture.serve();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

type Request = MessageInitShape<typeof SubscribeRequestSchema>;

const ofRun = (runId: string, rest: Omit<Request, '$typeName' | 'target'> = {}): Request => ({
  target: { case: 'runId', value: runId },
  ...rest,
});

interface Seen {
  sequences: number[];
  kinds: (string | undefined)[];
  notices: string[];
  responses: SubscribeResponse[];
}

/** All that one call gives, up to its OK or until `enough`. */
async function collect(request: Request, enough = (_: Seen): boolean => false): Promise<Seen> {
  const seen: Seen = { sequences: [], kinds: [], notices: [], responses: [] };
  for await (const response of gateway.client.subscribeOnce(request)) {
    seen.responses.push(response);
    if (response.notice.case !== undefined) seen.notices.push(response.notice.case);
    for (const { events } of response.batches) {
      for (const event of events) {
        seen.sequences.push(Number(event.sequence));
        seen.kinds.push(event.payload.case);
      }
    }
    if (enough(seen)) break;
  }
  return seen;
}

function upTo(last: number, from = 1): number[] {
  return Array.from({ length: last - from + 1 }, (_, index) => from + index);
}

async function finishedRun(): Promise<{ runId: string; last: number }> {
  const feed = fixture.feed();
  await feed.start();
  await feed.commit([delta('a'), delta('b'), toolStart('bash'), delta('c')]);
  await feed.commit([stderr('noise')]);
  await feed.commit([delta('d'), delta('e')]);
  await feed.commit([turnDone('x')]);
  await feed.commit([delta('f', 2n), delta('g', 2n)]);
  await feed.finish();
  return { runId: feed.runId, last: feed.last() };
}

test('a finished run is read from the beginning and ends with OK right after RunFinished', async () => {
  const { runId, last } = await finishedRun();
  const seen = await collect(ofRun(runId));
  expect(seen.sequences).toEqual(upTo(last).filter((sequence) => sequence !== 6));
  expect(seen.kinds.at(-1)).toBe('runFinished');
  expect(seen.notices).toEqual([]);
  const [batch] = seen.responses[0]?.batches ?? [];
  expect(batch?.runId).toBe(runId);
});

test('include_stderr gives every sequence', async () => {
  const { runId, last } = await finishedRun();
  const seen = await collect(ofRun(runId, { includeStderr: true }));
  expect(seen.sequences).toEqual(upTo(last));
});

test('skip_deltas leaves out the deltas and nothing else, with and without stderr', async () => {
  const { runId } = await finishedRun();
  const seen = await collect(ofRun(runId, { skipDeltas: true }));
  expect(seen.kinds).toEqual(['runStarted', 'toolStart', 'turnDone', 'runFinished']);
  const both = await collect(ofRun(runId, { skipDeltas: true, includeStderr: true }));
  expect(both.kinds).toEqual(['runStarted', 'toolStart', 'stderrChunk', 'turnDone', 'runFinished']);
});

test('skip_closed_deltas leaves out the deltas of closed rounds only', async () => {
  const { runId } = await finishedRun();
  const seen = await collect(ofRun(runId, { skipClosedDeltas: true }));
  expect(seen.kinds).toEqual([
    'runStarted',
    'toolStart',
    'turnDone',
    'messageDelta',
    'messageDelta',
    'runFinished',
  ]);
});

test('after_sequence begins exactly one later, wherever it falls in a batch', async () => {
  const { runId, last } = await finishedRun();
  for (let after = 0; after <= last; after++) {
    const start = { case: 'afterSequence', value: BigInt(after) } as const;
    const seen = await collect(ofRun(runId, { start, includeStderr: true }));
    expect(seen.sequences).toEqual(upTo(last, after + 1));
  }
});

test('each cursor of a stream resumes right behind what was delivered with it', async () => {
  const feed = fixture.feed();
  await feed.start();
  const whole = collect(ofRun(feed.runId, { includeStderr: true }));
  for (let count = 0; count < 20; count++) await feed.commit([delta('x'), delta('y')]);
  await feed.finish();
  const { responses } = await whole;
  const delivered: number[] = [];
  for (const { batches, cursor } of responses) {
    for (const { events } of batches) delivered.push(...events.map((e) => Number(e.sequence)));
    const seen = await collect(
      ofRun(feed.runId, { start: { case: 'cursor', value: cursor }, includeStderr: true }),
    );
    expect([...delivered, ...seen.sequences]).toEqual(upTo(feed.last()));
  }
});

test('the seam has no hole and no repetition while the run is written without pause', async () => {
  const feed = fixture.feed();
  await feed.start();
  // The last reader begins behind the 11th event.
  for (let event = 2; event <= 11; event += 1) await feed.commit([delta('w')]);
  let isOver = false;
  const writing = (async () => {
    while (!isOver) await feed.commit([delta('x'), delta('y'), delta('z')]);
    await feed.finish();
  })();
  const readers = Array.from({ length: 12 }, async (_, index) => {
    const enough = 200 * (index + 1);
    const start = { case: 'afterSequence', value: BigInt(index) } as const;
    let count = 0;
    const seen = await collect(ofRun(feed.runId, { start }), ({ sequences, notices }) => {
      count = sequences.length;
      return notices.includes('caughtUp') && count > enough;
    });
    expect(seen.notices[0]).toBe('caughtUp');
    expect(seen.sequences).toEqual(upTo(index + count, index + 1));
  });
  await Promise.all(readers);
  isOver = true;
  await writing;
});

test('TAIL gives only what is committed from now on, of a finished run its RunFinished', async () => {
  const start = { case: 'position', value: StartPosition.TAIL } as const;
  const feed = fixture.feed();
  await feed.start();
  await feed.commit([delta('old')]);
  const seen = collect(ofRun(feed.runId, { start }), ({ notices, sequences }) => {
    if (notices.length === 1 && sequences.length === 0) void feed.commit([delta('new')]);
    return sequences.length > 0;
  });
  expect((await seen).sequences).toEqual([3]);
  const { runId, last } = await finishedRun();
  expect((await collect(ofRun(runId, { start }))).sequences).toEqual([last]);
});

test('an event in parts comes whole and in order, and no cursor lands between its parts', async () => {
  const feed = fixture.feed();
  await feed.start();
  const live = collect(ofRun(feed.runId), ({ sequences }) => sequences.includes(4));
  await feed.parts(turnDone('p'.repeat(1000)), 5);
  await feed.parts(delta('q'.repeat(1000)), 3);
  await feed.commit([toolStart('after')]);
  for (const { responses } of [await live, await collectUntil(feed.runId, 4)]) {
    const parts = responses.flatMap(({ batches }) => batches.flatMap((batch) => batch.part ?? []));
    expect(parts.map(({ sequence, index }) => [Number(sequence), index])).toEqual([
      [2, 0],
      [2, 1],
      [2, 2],
      [2, 3],
      [2, 4],
      [3, 0],
      [3, 1],
      [3, 2],
    ]);
    for (const { cursor } of responses) {
      const start = { case: 'cursor', value: cursor } as const;
      const rest = await collect(
        ofRun(feed.runId, { start }),
        ({ notices, sequences }) => sequences.length > 0 || notices.length > 0,
      );
      const first = rest.responses[0]?.batches[0]?.part;
      expect(first?.index ?? 0).toBe(0);
    }
  }
  const steps = await collect(ofRun(feed.runId, { skipDeltas: true }), ({ sequences }) =>
    sequences.includes(4),
  );
  const stepParts = steps.responses.flatMap(({ batches }) =>
    batches.flatMap((batch) => batch.part ?? []),
  );
  expect(stepParts.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
});

function collectUntil(runId: string, sequence: number): Promise<Seen> {
  return collect(ofRun(runId), ({ sequences }) => sequences.includes(sequence));
}

test('the client puts big events together and gives each event once', async () => {
  const feed = fixture.feed();
  await feed.start();
  await feed.parts(turnDone('p'.repeat(5000)), 4);
  await feed.finish();
  const events: RunEvent[] = [];
  for await (const event of gateway.client.subscribe(ofRun(feed.runId))) events.push(event);
  expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  expect(events[1]?.event.payload).toMatchObject({
    case: 'turnDone',
    value: { message: 'p'.repeat(5000) },
  });
});

test('a filter gives the runs of its tenant with all its labels and no other', async () => {
  const team = `t${Date.now()}`;
  const request: Request = { target: { case: 'filter', value: { labels: { team } } } };
  const feeds = [
    fixture.feed({ labels: { team, env: 'a' } }),
    fixture.feed({ labels: { team: 'other' } }),
    fixture.feed({ labels: { team }, tenant: 'strangers' }),
    fixture.feed({ labels: { team } }),
  ];
  const runs = new Set<string>();
  const seen = collect(request, ({ responses, notices, sequences }) => {
    for (const { batches } of responses) for (const { runId } of batches) runs.add(runId);
    if (notices.length === 1 && sequences.length === 0) {
      void (async () => {
        for (const feed of feeds) await feed.start();
        for (const feed of feeds) await feed.finish();
      })();
    }
    return sequences.length === 4;
  });
  expect((await seen).notices[0]).toBe('caughtUp');
  expect([...runs].sort()).toEqual([feeds[0]?.runId, feeds[3]?.runId].sort());
  const start = { case: 'position', value: StartPosition.EARLIEST } as const;
  const history = await collect({ ...request, start }, ({ notices }) => notices.length > 0);
  expect(history.sequences).toHaveLength(4);
});

test('a filter by partition key gives the runs with that very key', async () => {
  const key = `conversation-${Date.now()}`;
  const mine = fixture.feed({ partitionKey: key });
  const other = fixture.feed();
  for (const feed of [mine, other]) await feed.start();
  const seen = await collect(
    {
      target: { case: 'filter', value: { partitionKey: key } },
      start: { case: 'position', value: StartPosition.EARLIEST },
    },
    ({ notices }) => notices.length > 0,
  );
  const runs = seen.responses.flatMap(({ batches }) => batches.map(({ runId }) => runId));
  expect(runs).toEqual([mine.runId]);
});

test('wait_for_run waits for a run that does not exist yet', async () => {
  const feed = fixture.feed({ isUnknown: true });
  const seen = collect(ofRun(feed.runId, { waitForRun: { seconds: 20n, nanos: 0 } }));
  feed.announce();
  await feed.start();
  await feed.finish();
  expect((await seen).sequences).toEqual([1, 2]);
});

test('a heartbeat comes when nothing else does', async () => {
  const feed = fixture.feed();
  await feed.start();
  const request = ofRun(feed.runId, { heartbeatInterval: { seconds: 1n, nanos: 0 } });
  const seen = await collect(request, ({ notices }) => notices.includes('heartbeat'));
  expect(seen.notices).toEqual(['caughtUp', 'heartbeat']);
});

test('what cannot be served has its status, code and facts', async () => {
  const { runId, last } = await finishedRun();
  const unknown = fixture.feed({ isUnknown: true }).runId;
  const holed = fixture.feed();
  await holed.start();
  const lost = await holed.commit([delta('lost')]);
  await holed.commit([delta('kept')]);
  await holed.finish();
  await fixture.access.manager.streams.deleteMessage(STREAM, lost);
  const ahead = { case: 'afterSequence', value: BigInt(last + 1) } as const;
  const otherCursor = (await collect(ofRun(holed.runId, { skipDeltas: true }))).responses[0]
    ?.cursor;
  const foreign = { case: 'cursor', value: otherCursor ?? '' } as const;
  for (const [request, error] of [
    [{}, { code: 'INVALID_REQUEST', fields: [{ field: 'target' }] }],
    [ofRun('not-a-run'), { code: 'INVALID_REQUEST', fields: [{ field: 'run_id' }] }],
    [ofRun(unknown), { code: 'RUN_NOT_FOUND', metadata: { run_id: unknown } }],
    [ofRun(runId, { start: ahead }), { code: 'CURSOR_AHEAD' }],
    [ofRun(runId, { start: { case: 'cursor', value: 'x' } }), { code: 'CURSOR_INVALID' }],
    [ofRun(runId, { start: foreign }), { code: 'CURSOR_INVALID' }],
    [ofRun(holed.runId), { code: 'LOG_HOLE', metadata: { after_sequence: '1' } }],
  ] as const) {
    await expect(collect(request)).rejects.toMatchObject(error);
  }
});
