import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  type Event,
  type EventBatch,
  EventBatchSchema,
  EventClass,
  EventSchema,
  MalformedLine_Reason,
  ProtocolViolation_Rule,
  type RunFinished,
} from '#gen/hep/event/v1/event_pb.js';
import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';
import { BridgeError } from '../../src/errors.js';
import { originalLine } from '../../src/hep/original-line.js';
import { createClock } from '../../src/ingest/clock.js';
import { MAX_NOISE_LINES } from '../../src/ingest/header-gate.js';
import type { Exit } from '../../src/ingest/outcome.js';
import { createRun, DEFAULT_RUN_LIMITS, type RunLimits } from '../../src/ingest/run.js';
import type { Commit } from '../../src/ingest/run-log.js';

const RUN_ID = '0199c2f0-7a11-7000-8000-000000000001';
const OK: Exit = { kind: 'code', code: 0 };

interface Played {
  readonly commits: readonly Commit[];
  readonly batches: readonly EventBatch[];
  readonly events: readonly Event[];
  readonly finished: RunFinished;
  readonly mustStop: readonly string[];
}

interface PlayOptions {
  readonly exit?: Exit;
  readonly strict?: boolean;
  readonly limits?: Partial<RunLimits>;
  readonly chunkBytes?: number;
  readonly stderr?: string;
}

/** Plays a source through a run whose log is a list. */
async function play(source: Uint8Array | string, options: PlayOptions = {}): Promise<Played> {
  const commits: Commit[] = [];
  const mustStop: string[] = [];
  const run = createRun({
    runId: RUN_ID,
    log: {
      commit: async (commit) => {
        await Promise.resolve();
        commits.push(commit);
      },
      verify: () => Promise.resolve(),
      restartChain: () => Promise.reject(new Error('not asked for')),
    },
    clock: createClock(),
    limits: { ...DEFAULT_RUN_LIMITS, ...options.limits },
    strict: options.strict ?? false,
    onMustStop: (why) => mustStop.push(why),
    onFailure: (error) => {
      throw error;
    },
  });
  const bytes = Buffer.from(source);
  const step = options.chunkBytes ?? Math.max(1, bytes.length);
  for (let at = 0; at < bytes.length; at += step) {
    run.stdout(bytes.subarray(at, at + step));
    await run.ready();
  }
  if (options.stderr !== undefined) run.stderr(Buffer.from(options.stderr));
  const finished = await run.finish({ exit: options.exit ?? OK, cancelSignalled: false });
  const batches = commits.map(({ body }) => fromBinary(EventBatchSchema, body));
  return { commits, batches, events: assemble(batches), finished, mustStop };
}

function assemble(batches: readonly EventBatch[]): Event[] {
  const events: Event[] = [];
  let parts: Uint8Array[] = [];
  for (const batch of batches) {
    events.push(...batch.events);
    if (batch.part === undefined) continue;
    parts.push(batch.part.data);
    if (batch.part.index !== batch.part.count - 1) continue;
    events.push(fromBinary(EventSchema, Buffer.concat(parts)));
    parts = [];
  }
  return events;
}

function rebuild(events: readonly Event[]): Buffer {
  const chunks: Uint8Array[] = [];
  const finished = events.at(-1)?.payload;
  if (finished?.case !== 'runFinished') throw new Error('no RunFinished');
  const tail = events.at(-1)?.blankBefore ?? new Uint8Array(0);
  for (const event of events) {
    const line = originalLine(event, 1);
    if (line === undefined) continue;
    chunks.push(event.blankBefore, line, Buffer.from('\n'));
  }
  if (finished.value.unterminatedTail && tail.length === 0) chunks.pop();
  return Buffer.concat([...chunks, tail]);
}

const verdict = ({ outcome, reason }: RunFinished): string =>
  `${Outcome[outcome]} / ${OutcomeReason[reason]}`;
const kinds = (events: readonly Event[]): (string | undefined)[] =>
  events.map(({ payload }) => payload.case);
const HEADER = '{"type":"hep_header","hep":"v1","fah":"1.0.0","session":"s1"}\n';
const DELTA = '{"type":"message_delta","turn_id":1,"delta":"hi"}\n';
const DONE =
  '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}\n';

const golden = new URL('../golden/streams/', import.meta.url);
const shared = new URL('../../../shared/cases/', import.meta.url);
const streams = [golden, shared]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder)))
  .filter(({ pathname }) => pathname.endsWith('.jsonl'));

describe.each(streams)('the stream %s', (url) => {
  const source = readFileSync(url);
  const isRefused = /\/16(a|b|g)-/.test(url.pathname);

  it.each([undefined, 1, 7, 64])(
    'comes back byte for byte, read %s bytes at a time',
    async (chunkBytes) => {
      const options = chunkBytes === undefined ? {} : { chunkBytes };
      const { events, finished } = await play(source, options);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => BigInt(at + 1)));
      expect(finished.stdoutBytes).toBe(BigInt(source.length));
      if (isRefused) {
        expect(kinds(events)).toEqual(['runFinished']);
        expect(finished.outcome).toBe(Outcome.REFUSED);
      } else {
        expect(rebuild(events).equals(source)).toBe(true);
      }
    },
  );
});

describe('a run', () => {
  it('commits what one read delivered as one batch and says how far the source is read', async () => {
    const { batches } = await play(HEADER + DELTA + DELTA);
    expect(batches).toHaveLength(2);
    expect(batches[0]?.stdoutOffset).toBe(BigInt((HEADER + DELTA + DELTA).length));
    expect(batches[0]?.class).toBe(EventClass.STEP);
  });

  it('marks a batch of deltas alone as class delta', async () => {
    const { commits } = await play(HEADER + DELTA, { chunkBytes: HEADER.length });
    expect(commits.map((commit) => commit.class)).toEqual(['step', 'delta', 'step']);
  });

  it('chains batches by the last sequence before them, for all readers and for step readers', async () => {
    const { batches } = await play(HEADER + DELTA + DELTA + DONE, { chunkBytes: 50, stderr: 'x' });
    let last = 0n;
    let lastStep = 0n;
    for (const batch of batches) {
      if (batch.class === EventClass.STDERR) continue;
      expect(batch.previousSequence).toBe(last);
      expect(batch.previousStepSequence).toBe(lastStep);
      last = batch.events.at(-1)?.sequence ?? last;
      for (const { payload, sequence } of batch.events) {
        if (payload.case !== 'messageDelta' && payload.case !== 'toolDelta') lastStep = sequence;
      }
    }
  });

  it('stores the canonical hot frame without its line and with the bytes of the general path', async () => {
    const { events } = await play(HEADER + DELTA);
    const delta = events[1];
    expect(delta?.line).toHaveLength(0);
    expect(delta?.payload.value).toMatchObject({ turnId: 1n, delta: 'hi' });
  });

  it('cuts an event over the message limit into parts that fit, and puts it together again', async () => {
    const big = `{"type":"message_delta","turn_id":1,"delta":"${'x'.repeat(300_000)}"}\n`;
    const limits = { maxMessageBytes: 65_536 };
    const { commits, events } = await play(HEADER + big + DELTA, { limits });
    expect(commits.map((commit) => commit.class)).toEqual([
      'step',
      'part',
      'part',
      'part',
      'part',
      'delta',
      'delta',
      'step',
    ]);
    for (const { body } of commits) expect(body.length).toBeLessThanOrEqual(65_536);
    expect(rebuild(events).toString()).toBe(HEADER + big + DELTA);
  });

  it('splits what waits into messages under the limit without losing a line', async () => {
    const source = HEADER + DELTA.repeat(5_000);
    const { commits, events } = await play(source, { limits: { maxMessageBytes: 8_192 } });
    for (const { body } of commits) expect(body.length).toBeLessThanOrEqual(8_192);
    expect(rebuild(events).toString()).toBe(source);
  });

  it('replaces a line over the limit by OversizeLine and goes on', async () => {
    const source = `${HEADER}${'y'.repeat(5_000)}\n${DELTA}`;
    const { events } = await play(source, { limits: { maxLineBytes: 1_000 } });
    expect(kinds(events)).toEqual(['hepHeader', 'oversizeLine', 'messageDelta', 'runFinished']);
    expect(events[1]?.payload.value).toMatchObject({ lineBytes: 5_000n });
  });

  it('keeps blank lines with the event behind them, and those at the end with RunFinished', async () => {
    const source = `\n${HEADER}\r\n  \n${DELTA}\n\n`;
    const { events } = await play(source);
    expect(events.map(({ blankBefore }) => Buffer.from(blankBefore).toString())).toEqual([
      '\n',
      '\r\n  \n',
      '\n\n',
    ]);
    expect(rebuild(events).toString()).toBe(source);
  });

  it('makes an event of a blank line when more than 64 KiB of blanks would wait', async () => {
    const source = `${HEADER}${'\n'.repeat(70_000)}${DELTA}`;
    const { events } = await play(source);
    expect(kinds(events)).toContain('malformedLine');
    expect(rebuild(events).toString()).toBe(source);
  });

  it('publishes noise before the header only once the header was accepted', async () => {
    const noise = 'Now using node v20\n'.repeat(3);
    const accepted = await play(noise + HEADER + DELTA + DONE, { chunkBytes: noise.length });
    expect(kinds(accepted.events).slice(0, 4)).toEqual([
      'malformedLine',
      'malformedLine',
      'malformedLine',
      'hepHeader',
    ]);
    const refused = await play(noise + DELTA);
    expect(kinds(refused.events)).toEqual(['runFinished']);
  });

  it('refuses a stream whose noise before the header is over its cap, and names the line', async () => {
    const { finished, mustStop } = await play('x\n'.repeat(MAX_NOISE_LINES + 1) + HEADER);
    expect(verdict(finished)).toBe('REFUSED / HEADER_MISSING');
    expect(Buffer.from(finished.refusedLine).toString()).toBe('x');
    expect(mustStop).toHaveLength(1);
  });

  it('keeps noise of a stream that never had a frame, and judges by the exit', async () => {
    const { events, finished } = await play('usage: fa\n', { exit: { kind: 'code', code: 64 } });
    expect(kinds(events)).toEqual(['malformedLine', 'runFinished']);
    expect(verdict(finished)).toBe('FAILED / USAGE');
  });

  it('decodes a last line without 0x0A if it is whole', async () => {
    const { events, finished } = await play(HEADER + DONE.slice(0, -1));
    expect(kinds(events)).toEqual(['hepHeader', 'turnDone', 'runFinished']);
    expect(finished.unterminatedTail).toBe(true);
    expect(verdict(finished)).toBe('COMPLETED / TURN_DONE');
  });

  it('calls a last line that is cut TRUNCATED, whatever the exit says', async () => {
    const { events, finished } = await play(HEADER + DONE.slice(0, 60));
    const malformed = events[1]?.payload;
    expect(malformed?.case === 'malformedLine' && malformed.value.reason).toBe(
      MalformedLine_Reason.TRUNCATED,
    );
    expect(verdict(finished)).toBe('INCOMPLETE / TRUNCATED');
  });

  it('puts a violation of the order on the event itself, hot path or not', async () => {
    const { events } = await play(HEADER + DONE + DELTA + DONE);
    expect(events.map(({ violations }) => violations.map(({ rule }) => rule))).toEqual([
      [],
      [],
      [ProtocolViolation_Rule.ORDER],
      [ProtocolViolation_Rule.ORDER],
      [],
    ]);
  });

  it('ends a strict run at the first violation, and does not end a lenient one', async () => {
    const source = HEADER + DONE + DELTA;
    const strict = await play(source, { strict: true });
    expect(verdict(strict.finished)).toBe('FAILED / STRICT');
    expect(strict.mustStop).toHaveLength(1);
    expect((await play(source)).mustStop).toHaveLength(0);
  });

  it('prefers the last non-empty answer and sums usage', async () => {
    const silent = DONE.replace('"message":"hi"', '"message":""').replaceAll(
      '"turn_id":1',
      '"turn_id":2',
    );
    const { finished } = await play(HEADER + DONE + silent);
    expect(finished.answer).toBe('hi');
    expect(finished.answerSequence).toBe(2n);
    expect(finished.lastTerminalSequence).toBe(3n);
    expect(finished.usage).toMatchObject({ input: 2n, output: 4n, cost: 0 });
  });

  it('commits stderr apart from frames and behind them, and keeps its last 8 KiB', async () => {
    const { commits, finished } = await play(HEADER + DELTA, {
      stderr: `${'e'.repeat(100_000)}end`,
    });
    expect(commits.map((commit) => commit.class)).toEqual(['step', 'stderr', 'stderr', 'step']);
    expect(finished.stderrTail).toHaveLength(8_192);
    expect(Buffer.from(finished.stderrTail.slice(-3)).toString()).toBe('end');
  });

  it('holds its source back while commits wait, and makes bigger batches of what waited', async () => {
    const commits: Commit[] = [];
    const acks: (() => void)[] = [];
    const run = createRun({
      runId: RUN_ID,
      log: {
        commit: (commit) =>
          new Promise<void>((resolve) => {
            commits.push(commit);
            acks.push(resolve);
          }),
        verify: () => Promise.resolve(),
        restartChain: () => Promise.reject(new Error('not asked for')),
      },
      clock: createClock(),
      limits: { ...DEFAULT_RUN_LIMITS, maxWaitingBytes: 1_000 },
      strict: false,
      onMustStop: () => undefined,
      onFailure: () => undefined,
    });
    run.stdout(Buffer.from(HEADER));
    for (let i = 0; i < 100; i += 1) run.stdout(Buffer.from(DELTA));
    let isReady = false;
    const ready = run.ready().then(() => {
      isReady = true;
    });
    await Promise.resolve();
    expect(isReady).toBe(false);
    expect(commits).toHaveLength(1);
    acks[0]?.();
    await ready;
    expect(commits).toHaveLength(2);
    expect(commits[1]).toMatchObject({ firstSequence: 2, lastSequence: 101 });
  });

  it('fails every waiter with the reason when the log takes the run away', async () => {
    const failures: BridgeError[] = [];
    const run = createRun({
      runId: RUN_ID,
      log: {
        commit: () => Promise.reject(new BridgeError('FENCED', 'another writer owns the run')),
        verify: () => Promise.resolve(),
        restartChain: () => Promise.reject(new Error('not asked for')),
      },
      clock: createClock(),
      limits: DEFAULT_RUN_LIMITS,
      strict: false,
      onMustStop: () => undefined,
      onFailure: (error) => failures.push(error),
    });
    run.stdout(Buffer.from(HEADER));
    await expect(run.drained()).rejects.toMatchObject({ code: 'FENCED' });
    await expect(run.finish({ exit: OK, cancelSignalled: false })).rejects.toMatchObject({
      code: 'FENCED',
    });
    expect(failures).toHaveLength(1);
  });
});
