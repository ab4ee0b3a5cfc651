import { create } from '@bufbuild/protobuf';
import {
  type Event,
  HistoryExpiredSchema,
  type RunFinished,
  StderrChunkSchema,
} from '#gen/hep/event/v1/event_pb.js';
import { BridgeError, toBridgeError } from '../errors.js';
import {
  type ChainPosition,
  createBatchQueue,
  type SourceOffsets,
  type TakenBatch,
} from './batch-queue.js';
import type { ClockUs } from './clock.js';
import { createEventWriter, type EventBody } from './event-writer.js';
import { createLineEvents } from './line-events.js';
import { type RunEnd, runFinished } from './run-finished.js';
import type { RunLog } from './run-log.js';
import { createStderrQueue } from './stderr-queue.js';
import type { StreamFacts } from './stream-facts.js';
import { createStreamState, type StreamState } from './stream-state.js';

export interface RunLimits {
  /** Bytes of a line, without 0x0A. */
  readonly maxLineBytes: number;
  /** Bytes of a message of the log. */
  readonly maxMessageBytes: number;
  /** Encoded bytes that may wait for their commit before `ready` holds the source back. */
  readonly maxWaitingBytes: number;
}

export const DEFAULT_RUN_LIMITS: RunLimits = {
  maxLineBytes: 16 * 1_048_576,
  maxMessageBytes: 524_288,
  maxWaitingBytes: 1_048_576,
};

/** What an adopting owner knows from the log. */
export interface RunResume {
  readonly position: ChainPosition;
  readonly lastSequence: number;
  /** Rebuilt from the run's stored events. */
  readonly state: StreamState;
}

export interface RunOptions {
  readonly runId: string;
  readonly log: RunLog;
  readonly clock: ClockUs;
  readonly limits: RunLimits;
  readonly strict: boolean;
  readonly resume?: RunResume;
  /** The stream is refused, or a strict run is broken: the source must be stopped. Called once. */
  readonly onMustStop: (why: string) => void;
  /** The log took the run away from this owner, or failed for good. Called once. */
  readonly onFailure: (error: BridgeError) => void;
  /** A commit was acknowledged. */
  readonly onCommitted?: () => void;
  /** Bytes of stdout were taken. */
  readonly onRead?: () => void;
}

/**
 * One run as its owner writes it: bytes of the source go in, commits go out, one at a time. What
 * arrives while one is under way makes the next.
 */
export interface Run {
  readonly runId: string;
  readonly facts: StreamFacts;
  /** Frames seen by this owner. */
  readonly frames: number;
  /** A header was accepted, or refused. */
  readonly hasHeader: boolean;
  /** Sequence of the newest event, committed or not. */
  readonly lastSequence: number;
  /** What the log takes is less than what comes: `ready` waits. */
  readonly isHeldBack: boolean;
  /** What the log has acknowledged. */
  readonly committed: {
    readonly sequence: number;
    readonly offsets: SourceOffsets;
    /** When its last event was observed; 0 = nothing was committed by this owner. */
    readonly lastTimeUs: number;
  };
  /** Position in stdout behind the last byte seen. */
  readonly stdoutOffset: number;
  readonly stderrOffset: number;
  /** Bytes of stdout, at most a few hundred KiB at once. The caller may reuse them. */
  stdout(bytes: Uint8Array): void;
  stderr(bytes: Uint8Array): void;
  /** Resolves as soon as more bytes may come; rejects if the log failed. */
  ready(): Promise<void>;
  /**
   * Adds a bridge-made event; resolves with its sequence when it is committed. Rejects with
   * `RUN_FINISHED` once `finish` was called.
   */
  append(payload: Event['payload']): Promise<number>;
  /** Resolves when all that was given is committed. */
  drained(): Promise<void>;
  /**
   * Asks the log whether this owner still has the run; if not, `onFailure` is called before this
   * resolves. What else goes wrong is left for the next commit to find.
   */
  verify(): Promise<void>;
  /** Ends the run, once; resolves when RunFinished is committed. */
  finish(end: RunEnd): Promise<RunFinished>;
}

export function createRun(options: RunOptions): Run {
  const { runId, log, clock, limits, strict, resume } = options;
  const queue = createBatchQueue(runId, limits.maxMessageBytes, resume?.position);
  const writer = createEventWriter(queue, resume?.lastSequence);
  const source = resume?.position.offsets ?? { stdout: 0, stderr: 0 };
  const lines = createLineEvents({
    writer,
    state: resume?.state ?? createStreamState(strict),
    maxLineBytes: limits.maxLineBytes,
    strict,
    startOffset: source.stdout,
  });
  const stderr = createStderrQueue(source.stderr);

  let committed = { sequence: resume?.lastSequence ?? 0, offsets: source, lastTimeUs: 0 };
  let waiters: { until: () => boolean; resolve: () => void; reject: (e: BridgeError) => void }[] =
    [];
  let failure: BridgeError | undefined;
  let isCommitting = false;
  let isFinishing = false;
  let mustStop = false;

  const waitingBytes = (): number => queue.bytes + stderr.bytes;

  function takeStderr(): TakenBatch | undefined {
    const chunk = stderr.take();
    if (chunk === undefined) return undefined;
    const nowUs = clock();
    writer.begin(nowUs);
    const { offset, data } = chunk;
    const value = create(StderrChunkSchema, { offset: BigInt(offset), data });
    const events = writer.encodeApart({ payload: { case: 'stderrChunk', value } });
    return queue.wrapStderr(events, nowUs, offset + data.length);
  }

  async function commit(taken: TakenBatch): Promise<void> {
    for (const message of taken.commits) {
      try {
        await log.commit(message);
      } catch (thrown) {
        const error = toBridgeError(thrown);
        if (error.code !== 'HISTORY_GONE') throw error;
        await log.restartChain();
        await log.commit(message);
        const lastSequence = BigInt(message.firstSequence - 1);
        const value = create(HistoryExpiredSchema, { lastSequence });
        write({ payload: { case: 'historyExpired', value } });
      }
    }
    const { lastSequence: sequence, offsets, lastTimeUs } = taken;
    committed = { sequence, offsets, lastTimeUs };
    options.onCommitted?.();
  }

  async function pump(): Promise<void> {
    if (isCommitting || failure !== undefined) return;
    isCommitting = true;
    try {
      for (;;) {
        const taken = queue.take() ?? takeStderr();
        settleWaiters();
        if (taken === undefined) break;
        await commit(taken);
      }
    } catch (thrown) {
      fail(toBridgeError(thrown));
    } finally {
      isCommitting = false;
      settleWaiters();
    }
  }

  function fail(error: BridgeError): void {
    if (failure !== undefined) return;
    failure = error;
    options.onFailure(error);
  }

  function settleWaiters(): void {
    if (waiters.length === 0) return;
    const waiting = waiters;
    waiters = [];
    for (const waiter of waiting) {
      if (failure !== undefined) waiter.reject(failure);
      else if (waiter.until()) waiter.resolve();
      else waiters.push(waiter);
    }
  }

  function when(until: () => boolean): Promise<void> {
    if (failure !== undefined) return Promise.reject(failure);
    if (until()) return Promise.resolve();
    return new Promise((resolve, reject) => waiters.push({ until, resolve, reject }));
  }

  function write(body: EventBody): number {
    writer.begin(clock());
    const sequence = writer.write(body, lines.eventOffset);
    writer.flush();
    return sequence;
  }

  function startPump(): void {
    // pump never rejects: it turns what fails into `failure`.
    void pump();
  }

  function checkMustStop(): void {
    if (mustStop || (lines.refusal === undefined && lines.strictBreach === '')) return;
    mustStop = true;
    options.onMustStop(lines.refusal?.detail ?? `strict: ${lines.strictBreach}`);
  }

  return {
    runId,
    facts: lines.facts,
    get frames() {
      return lines.frames;
    },
    get hasHeader() {
      return lines.hasHeader;
    },
    get lastSequence() {
      return writer.lastSequence;
    },
    get isHeldBack() {
      return waitingBytes() >= limits.maxWaitingBytes;
    },
    get committed() {
      return committed;
    },
    get stdoutOffset() {
      return lines.offset;
    },
    get stderrOffset() {
      return stderr.endOffset;
    },
    stdout(bytes) {
      lines.push(bytes, clock());
      startPump();
      checkMustStop();
      options.onRead?.();
    },
    stderr(bytes) {
      stderr.push(bytes);
      startPump();
    },
    ready() {
      return when(() => waitingBytes() < limits.maxWaitingBytes);
    },
    async append(payload) {
      if (isFinishing) throw new BridgeError('RUN_FINISHED', `run ${runId} is over`);
      const sequence = write({ payload });
      startPump();
      await when(() => committed.sequence >= sequence);
      return sequence;
    },
    drained() {
      return when(() => waitingBytes() === 0 && !isCommitting);
    },
    async verify() {
      try {
        await log.verify();
      } catch (thrown) {
        const error = toBridgeError(thrown);
        if (error.code !== 'FENCED') return;
        fail(error);
        settleWaiters();
      }
    },
    async finish(end) {
      if (isFinishing) throw new BridgeError('RUN_FINISHED', `run ${runId} is over`);
      isFinishing = true;
      lines.end(clock());
      checkMustStop();
      startPump();
      await when(() => waitingBytes() === 0 && !isCommitting);
      const value = runFinished(end, lines, stderr.tail);
      const blankBefore = lines.takeBlank();
      const sequence = write({ payload: { case: 'runFinished', value }, blankBefore });
      startPump();
      await when(() => committed.sequence >= sequence);
      return value;
    },
  };
}
