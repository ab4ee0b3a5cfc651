import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { UsageSchema } from '#gen/hep/frame/v1/frame_pb.js';
import type { CancelOrder } from '../../src/control/cancel/cancel-order.js';
import { createPolicyWatch, type PolicyWatch } from '../../src/control/own/policy-watch.js';
import { type Policies, strictestPolicies } from '../../src/ingest/policies.js';
import { createStreamFacts } from '../../src/ingest/stream-facts.js';

interface Watched {
  readonly run: {
    frames: number;
    hasHeader: boolean;
    isHeldBack: boolean;
    lastSequence: number;
    stdoutOffset: number;
  };
  readonly facts: ReturnType<typeof createStreamFacts>;
  isListening: boolean;
  readonly watch: PolicyWatch;
  readonly reached: string[];
}

function watched(policies: Policies): Watched {
  const facts = createStreamFacts();
  const run = { frames: 0, hasHeader: false, isHeldBack: false, lastSequence: 0, stdoutOffset: 0 };
  const reached: string[] = [];
  const all: Watched = {
    run,
    facts,
    isListening: true,
    reached,
    watch: createPolicyWatch({
      run: Object.assign(run, { facts }),
      policies,
      createdMs: 0,
      isListening: () => all.isListening,
      onReached: ({ actor, reason }: CancelOrder) => reached.push(`${actor}: ${reason}`),
    }),
  };
  return all;
}

/** Ticks from `fromMs` to `untilMs` (inclusive) as the gateway does. */
function tick({ watch }: Watched, fromMs: number, untilMs: number): void {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 250) watch.tick(nowMs);
}

describe('stall', () => {
  it('is reached without a frame for so long, once', () => {
    const all = watched({ stallMs: 2_000 });
    tick(all, 0, 1_750);
    all.run.frames += 1;
    tick(all, 2_000, 3_750);
    expect(all.reached).toEqual([]);
    tick(all, 4_000, 9_000);
    expect(all.reached).toEqual(['policy:stall: no frame for 2000 ms']);
  });

  it('does not count what waits for the log, or for a client', () => {
    const all = watched({ stallMs: 1_000 });
    all.run.isHeldBack = true;
    tick(all, 0, 5_000);
    all.run.isHeldBack = false;
    all.isListening = false;
    tick(all, 5_250, 9_000);
    all.isListening = true;
    tick(all, 9_250, 9_750);
    expect(all.reached).toEqual([]);
    tick(all, 10_000, 10_250);
    expect(all.reached).toHaveLength(1);
  });

  it('does not count a time in which the gateway itself stood still', () => {
    const all = watched({ stallMs: 3_000, headerWithinMs: 10_000 });
    tick(all, 0, 1_000);
    all.watch.tick(60_000);
    all.run.frames += 1;
    all.run.hasHeader = true;
    tick(all, 60_250, 63_000);
    expect(all.reached).toEqual([]);
  });
});

describe('deadline and header', () => {
  it('count from the creation', () => {
    const all = watched({ deadlineMs: 3_000, headerWithinMs: 1_000 });
    tick(all, 0, 750);
    expect(all.reached).toEqual([]);
    tick(all, 1_000, 2_750);
    expect(all.reached).toEqual(['policy:header: no hep_header within 1000 ms']);
    tick(all, 3_000, 6_000);
    expect(all.reached.slice(1)).toEqual(['policy:deadline: the deadline of 3000 ms has passed']);
  });
});

describe('budget and size', () => {
  it('are reached by more than their limit, once each', () => {
    const all = watched({ maxTokens: 10, maxCost: 0.5, maxEvents: 3, maxStdoutBytes: 100 });
    all.run.lastSequence = 3;
    all.run.stdoutOffset = 100;
    all.watch.read();
    expect(all.reached).toEqual([]);
    all.run.lastSequence = 4;
    all.run.stdoutOffset = 101;
    const usage = create(UsageSchema, { input: 8n, output: 3n, cost: 0.75 });
    const value = { $typeName: 'hep.frame.v1.TurnDone' as const, turnId: 1n, message: '', usage };
    all.facts.observe(
      { case: 'turnDone', value: { ...value, toolResults: [], stopReason: '' } },
      4,
    );
    all.watch.read();
    all.watch.read();
    expect(all.reached).toEqual([
      'policy:tokens: 11 tokens, the limit is 10',
      'policy:cost: 0.75 of cost, the limit is 0.5',
      'policy:events: 4 events, the limit is 3',
      'policy:bytes: 101 bytes of stdout, the limit is 100',
    ]);
  });
});

describe('policies of a profile and of a call', () => {
  it('hold each the stricter one', () => {
    const profile = { deadlineMs: 10, maxCost: 1 };
    const call = { deadlineMs: 20, maxCost: 0.5, maxEvents: 7 };
    expect(strictestPolicies(profile, call)).toEqual({
      deadlineMs: 10,
      maxCost: 0.5,
      maxEvents: 7,
    });
  });
});
