import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type IngestCancel,
  IngestExitSchema,
  type IngestOpened,
  IngestOpenSchema,
  type IngestResponse,
  IngestSignalledSchema,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import { BridgeError, type Code, toBridgeError } from '../errors.js';
import { pause } from '../serve/pause.js';
import { createWake } from '../wake.js';
import { backoffMs } from './backoff.js';
import type { BridgeClient } from './bridge-client.js';
import { type IngestCall, type IngestQueue, ingestRequests } from './ingest-queue.js';
import { createUnackedBytes } from './unacked-bytes.js';

export interface IngestWithResumeOptions {
  /** `runId` is required: it is what a later call resumes. */
  readonly open: MessageInitShape<typeof IngestOpenSchema>;
  /** Called once for each request to stop the agent. Go on giving what the agent writes. */
  readonly onCancel: (cancel: IngestCancel) => void;
  /** A call was cut; the next one follows after `waitMs`. */
  readonly onReconnect?: (error: BridgeError, waitMs: number) => void;
  /** The bridge has answered, also the first time. */
  readonly onReopened?: () => void;
  /** Ends all; its reason is what `finished` rejects with. */
  readonly signal?: AbortSignal;
}

/** One run that this process feeds. */
export interface Ingest {
  /** Resolves when the bridge has taken the run in; rejects as `finished` does. */
  readonly opened: Promise<void>;
  /** Resolves when RunFinished is committed. Rejects if the bridge does not take the run, or is gone. */
  readonly finished: Promise<Run>;
  /** Bytes given, and those of them that are committed. */
  readonly progress: {
    readonly given: number;
    readonly committed: number;
    readonly events: number;
  };
  /** Takes a copy; resolves when more may come. Does not reject: see `finished`. */
  stdout(bytes: Uint8Array): Promise<void>;
  stderr(bytes: Uint8Array): Promise<void>;
  /** Tells that a signal was sent for a cancel. */
  signalled(report: MessageInitShape<typeof IngestSignalledSchema>): void;
  /** The last word; the lengths of the pipes are filled in. */
  exit(exit: MessageInitShape<typeof IngestExitSchema>): void;
}

/** Bytes of a pipe that wait for their ack before its source is held back. */
const maxUnackedBytes = 8 * 1_048_576;
/** The same for an agent that was told to stop: it must be drained, or it cannot obey. */
const maxDrainedBytes = 1_073_741_824;
const maxGaps = 3;

const worthRetry: ReadonlySet<Code> = new Set<Code>([
  'BRIDGE_UNREACHABLE',
  'DRAINING',
  'LOG_UNAVAILABLE',
  'NATS_UNREACHABLE',
  'OWNER_UNREACHABLE',
  'INGEST_GAP',
]);

/**
 * Feeds one run over as many Ingest calls as it takes, each from where the bridge says. Gives up when the
 * first call fails, or when the bridge stays away for its reconnect window.
 */
export function ingestWithResume(
  ingest: BridgeClient['ingest'],
  options: IngestWithResumeOptions,
): Ingest {
  const signal = options.signal ?? new AbortController().signal;
  const queue: IngestQueue = {
    open: create(IngestOpenSchema, options.open),
    stdout: createUnackedBytes(maxUnackedBytes),
    stderr: createUnackedBytes(maxUnackedBytes),
    reports: [],
    reportsSent: 0,
    exit: undefined,
  };
  const changed = createWake();
  const served = new Set<string>();
  let windowMs = 0;
  let gaps = 0;
  let events = 0;
  let isOver = false;
  let waiting: (() => void)[] = [];
  let onOpened: () => void = () => undefined;

  async function feed(): Promise<Run> {
    let failures = 0;
    let answeredAt = performance.now();
    for (;;) {
      let error = new BridgeError('BRIDGE_UNREACHABLE', 'the call was cut before the run was over');
      const call: IngestCall = { opened: undefined, next: changed.next, isOver: false };
      queue.reportsSent = 0;
      try {
        for await (const response of ingest(ingestRequests(queue, call), { signal })) {
          failures = 0;
          answeredAt = performance.now();
          const run = take(response, call);
          if (run !== undefined) return run;
        }
      } catch (thrown) {
        signal.throwIfAborted();
        error = toBridgeError(thrown);
        if (windowMs === 0 || !worthRetry.has(error.code)) throw error;
        if (error.code === 'INGEST_GAP' && ++gaps > maxGaps) throw error;
      } finally {
        call.isOver = true;
        changed.wake();
      }
      const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(failures));
      failures += 1;
      if (performance.now() + waitMs - answeredAt > windowMs) throw error;
      options.onReconnect?.(error, waitMs);
      await pause(waitMs, signal);
    }
  }

  function take({ message }: IngestResponse, call: IngestCall): Run | undefined {
    switch (message.case) {
      case 'opened':
        begin(message.value, call);
        break;
      case 'ack': {
        const { stdoutOffset, stderrOffset, sequence } = message.value;
        queue.stdout.forget(Number(stdoutOffset));
        queue.stderr.forget(Number(stderrOffset));
        // The events of reports come back as acks of their own.
        queue.reports.splice(0, queue.reportsSent);
        queue.reportsSent = 0;
        events = Number(sequence);
        release();
        break;
      }
      case 'cancel':
        if (served.has(message.value.requestId)) break;
        served.add(message.value.requestId);
        options.onCancel(message.value);
        release();
        break;
      case 'finished':
        if (message.value.run === undefined)
          throw new BridgeError('INTERNAL', 'no run in finished');
        return message.value.run;
      case 'draining':
      case undefined:
        break;
    }
    return undefined;
  }

  function begin(opened: IngestOpened, call: IngestCall): void {
    for (const pipe of ['stdout', 'stderr'] as const) {
      const offset = Number(pipe === 'stdout' ? opened.stdoutOffset : opened.stderrOffset);
      if (offset >= queue[pipe].start) continue;
      throw new BridgeError(
        'INTERNAL',
        `the bridge asks for ${pipe} from byte ${offset}, but had acknowledged ${queue[pipe].start}`,
      );
    }
    const { reconnectWindow } = opened;
    windowMs = Math.max(1, reconnectWindow === undefined ? 60_000 : durationMs(reconnectWindow));
    call.opened = opened;
    changed.wake();
    onOpened();
    options.onReopened?.();
  }

  function hasRoom(pipe: 'stdout' | 'stderr'): boolean {
    const { start, end, holdsLine } = queue[pipe];
    const unacked = end - start;
    if (isOver || unacked < maxUnackedBytes) return true;
    // No ack comes for half a line, and none for a stream that was refused.
    const mustDrain = served.size > 0 || (pipe === 'stdout' && !holdsLine);
    return mustDrain && unacked < maxDrainedBytes;
  }

  function release(): void {
    const released = waiting;
    waiting = [];
    for (const resolve of released) resolve();
  }

  async function give(pipe: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    if (isOver) return;
    queue[pipe].push(bytes);
    changed.wake();
    while (!hasRoom(pipe)) await new Promise<void>((resolve) => waiting.push(resolve));
  }

  const opened = new Promise<void>((resolve) => {
    onOpened = resolve;
  });
  const finished = feed().finally(() => {
    isOver = true;
    release();
    queue.stdout.close();
    queue.stderr.close();
  });
  // Whoever awaits them sees the failure.
  finished.catch(() => undefined);
  const isOpened = Promise.race([opened, finished.then(() => undefined)]);
  isOpened.catch(() => undefined);
  return {
    opened: isOpened,
    finished,
    get progress() {
      const { start, end } = queue.stdout;
      return { given: end, committed: start, events };
    },
    stdout: (bytes) => give('stdout', bytes),
    stderr: (bytes) => give('stderr', bytes),
    signalled(report) {
      queue.reports.push(create(IngestSignalledSchema, report));
      changed.wake();
    },
    exit(exit) {
      const stdoutBytes = BigInt(queue.stdout.end);
      const stderrBytes = BigInt(queue.stderr.end);
      queue.exit ??= create(
        IngestExitSchema,
        exit.spawnError === undefined ? { ...exit, stdoutBytes, stderrBytes } : exit,
      );
      changed.wake();
    },
  };
}
