import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import { runsTable } from '../../src/cli/runs-table.js';
import { ageText, tookText } from '../../src/cli/span-text.js';

type RunInit = MessageInitShape<typeof RunSchema>;

const nowMs = Date.parse('2026-01-02T12:00:00Z');
const ago = (ms: number) => timestampFromMs(nowMs - ms);
const live: RunInit = {
  runId: '01a231bc-436f-747c-ad04-d960fda26d6a',
  state: Run_State.RUNNING,
  ownerId: 'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  createTime: ago(7_500_000),
  lastEventTime: ago(42_000),
  lastSequence: 123_456n,
};
const ended: RunInit = {
  ...live,
  state: Run_State.FINISHED,
  finishTime: ago(7_500_000 - 3_210),
  outcome: Outcome.COMPLETED,
  detail: 'exit 0',
};

/** Cells of the one run's line; two blanks part them. */
function cells(run: RunInit): string[] {
  const [, line = ''] = runsTable([create(RunSchema, run)], nowMs, 0).split('\n');
  return line.split(/ {2,}/);
}

describe('the table of runs', () => {
  it('says of a live run how long it has been silent', () => {
    expect(cells(live)).toEqual([
      '01a231bc-436f-747c-ad04-d960fda26d6a',
      'running',
      '2h',
      '42s ago',
      '123456',
      'f47ac10b',
      '-',
      '-',
    ]);
  });

  it('says of a live run that it was asked to end', () => {
    expect(cells({ ...live, cancelRequested: true }).at(-1)).toBe('cancelling');
  });

  it('says of a run that is over how long it took, and why it ended so', () => {
    expect(cells({ ...ended, labels: { team: 'a' } }).slice(1)).toEqual([
      'finished',
      '2h, took 3.2s',
      '-',
      '123456',
      'f47ac10b',
      'COMPLETED',
      'exit 0',
      'team=a',
    ]);
  });

  it('cuts WHY on one line, so that a line has 120 characters', () => {
    const detail = `cancelled: ended by SIGKILL;\n\u001b[2J ${'x'.repeat(200)}`;
    const runs = [create(RunSchema, { ...ended, detail }), create(RunSchema, live)];
    const lines = runsTable(runs, nowMs, 80).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toHaveLength(120);
    expect(lines[1]).toMatch(/ COMPLETED {2}cancelled: ende.*…$/);
    expect(runsTable(runs, nowMs, 170).split('\n')[1]).toHaveLength(170);
  });

  it('keeps something of WHY beside long labels', () => {
    const labels = { conversation: 'c'.repeat(40) };
    const run = create(RunSchema, { ...ended, detail: 'x'.repeat(50), labels });
    expect(runsTable([run], nowMs, 120)).toContain(` ${'x'.repeat(15)}…  conversation=ccc`);
  });

  it('has a place for what an older bridge does not tell', () => {
    expect(cells({ runId: 'r', state: Run_State.STARTING })).toEqual([
      'r',
      'starting',
      '-',
      '-',
      '0',
      '-',
      '-',
      '-',
    ]);
  });
});

describe('a span', () => {
  it('of time gone by has one unit', () => {
    const spans = [-5, 0, 999, 59_999, 60_000, 3_599_999, 86_399_999, 900_000_000];
    expect(spans.map(ageText)).toEqual(['0s', '0s', '0s', '59s', '1m', '59m', '23h', '10d']);
  });

  it('of work has the next smaller one, too', () => {
    const spans = [-5, 0, 3_210, 59_900, 125_000, 4_320_000];
    expect(spans.map(tookText)).toEqual(['0.0s', '0.0s', '3.2s', '59.9s', '2m5s', '1h12m']);
  });
});
