import { create } from '@bufbuild/protobuf';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import type { ListOptions, RunIndex } from '../../src/log/run-index.js';
import type { RunRecord } from '../../src/log/run-record.js';
import { type LogFixture, openAnother, openFixture } from './log-fixture.js';

let fixture: LogFixture;
let index: RunIndex;

beforeAll(async () => {
  fixture = await openFixture();
  index = fixture.log.index;
});

afterAll(() => fixture[Symbol.asyncDispose]());

function recordOf(tenantToken: string, labels: Record<string, string> = {}): RunRecord {
  const runId = uuidv7();
  return {
    run: create(RunSchema, { runId, labels, state: Run_State.RUNNING }),
    tenantToken,
    subjectPrefix: `hep.event.v1.${tenantToken}.7.${runId}`,
    requestHash: 'h',
    actor: 'me',
    strict: false,
    policies: {},
  };
}

/** Creates `count` runs, many at a time but in an order; returns their ids, newest first. */
async function createRuns(
  tenantToken: string,
  count: number,
  labelsOf: (at: number) => Record<string, string> = () => ({}),
): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; ) {
    const some = Array.from({ length: Math.min(50, count - at) }, (_, i) =>
      recordOf(tenantToken, labelsOf(at + i)),
    );
    await Promise.all(some.map((record) => index.create(record)));
    at += some.length;
    ids.push(...some.map(({ run }) => run.runId));
  }
  return ids.reverse();
}

/** All pages; also how many there were. */
async function listAll(
  tenantToken: string,
  options: Pick<ListOptions, 'limit' | 'match'>,
): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let before: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await index.listNewestFirst(tenantToken, {
      ...options,
      ...(before === undefined ? {} : { before }),
    });
    expect(page.records.length).toBeLessThanOrEqual(options.limit);
    ids.push(...page.records.map(({ run }) => run.runId));
    before = page.nextToken;
    if (before === undefined) return { ids, pages };
  }
}

const all = (): boolean => true;

describe('the index of runs', () => {
  it('is empty at first', async () => {
    await using own = await openFixture();
    const page = await own.log.index.listNewestFirst('default', { limit: 10, match: all });
    expect(page).toEqual({ records: [], nextToken: undefined });
    expect(await own.log.index.get('default', 'none')).toBeUndefined();
  });

  it('gives back what was put, as it was put last', async () => {
    const record = recordOf('put');
    await index.create(record);
    expect(await index.get('put', record.run.runId)).toEqual(record);
    record.run.state = Run_State.FINISHED;
    await index.update(record);
    const found = await index.get('put', record.run.runId);
    expect(found?.run.state).toBe(Run_State.FINISHED);
    expect(await index.get('other', record.run.runId)).toBeUndefined();
  });

  it('keeps a run in its place when it is updated', async () => {
    const first = recordOf('place');
    const second = recordOf('place');
    await index.create(first);
    await index.create(second);
    await index.update(first);
    const { ids } = await listAll('place', { limit: 10, match: all });
    expect(ids).toEqual([second.run.runId, first.run.runId]);
  });

  it('lists thousands of runs page by page, each once, newest first', async () => {
    const ids = await createRuns('many', 3_000);
    const listed = await listAll('many', { limit: 100, match: all });
    expect(listed.ids).toEqual(ids);
    expect(listed.pages).toBeLessThanOrEqual(31);
  }, 60_000);

  it('finds the few that match among thousands, and no other tenant’s', async () => {
    const ids = await createRuns('few', 1_500, (at) => (at % 500 === 0 ? { rare: 'yes' } : {}));
    const match = ({ run }: RunRecord): boolean => run.labels.rare === 'yes';
    const listed = await listAll('few', { limit: 2, match });
    expect(listed.ids).toEqual([ids[499], ids[999], ids[1_499]]);
    expect((await listAll('nobody', { limit: 10, match: all })).ids).toEqual([]);
  }, 60_000);

  it('shows each run once though new ones come between the pages', async () => {
    const ids = await createRuns('growing', 30);
    const first = await index.listNewestFirst('growing', { limit: 10, match: all });
    await createRuns('growing', 5);
    const before = first.nextToken ?? '';
    const second = await index.listNewestFirst('growing', { limit: 20, match: all, before });
    const seen = [...first.records, ...second.records].map(({ run }) => run.runId);
    expect(seen.sort()).toEqual(ids.sort());
  });

  it('refuses a token that it never gave', async () => {
    const page = index.listNewestFirst('many', { limit: 10, match: all, before: 'x' });
    await expect(page).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('is LOG_UNAVAILABLE while NATS is away, and there again after', async () => {
    await using own = await openFixture();
    await own.nats.kill9();
    const failed = expect(
      own.log.index.listNewestFirst('default', { limit: 10, match: all }),
    ).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    await failed;
    await own.nats.restart();
    const back = await openAnother(own.nats.url);
    await back.log.index.listNewestFirst('default', { limit: 10, match: all });
    await back.connection.close();
  });
});
