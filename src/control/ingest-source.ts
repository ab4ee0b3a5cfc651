import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  type IngestChunk,
  type IngestExit,
  type IngestRequest,
  type IngestResponse,
  IngestResponseSchema,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { BridgeError } from '../errors.js';
import type { Exit } from '../ingest/outcome.js';
import type { RunEnd } from '../ingest/run-finished.js';
import type { OwnedRun } from './owned-run.js';
import { toRunMessage } from './run-message.js';
import { createWake } from './wake.js';

/** Bytes per chunk that a client may send; a multiple of the frame size of HTTP/2. */
export const MAX_CHUNK_BYTES = 262_144;

export interface IngestSourceOptions {
  readonly owned: OwnedRun;
  /** Without an Ingest call for so long the run ends as LOST. */
  readonly reconnectWindowMs: number;
  readonly interruptGraceMs: number;
  readonly terminateGraceMs: number;
  /** Ends the run; called once. */
  readonly finish: (end: RunEnd) => void;
}

/** The source of a run whose agent belongs to a client: the calls that carry its bytes. */
export interface IngestSource {
  /** One Ingest call, from behind its `open`; a call that is still there is ended. */
  attach(
    requests: AsyncIterator<IngestRequest>,
    signal: AbortSignal,
  ): AsyncIterable<IngestResponse>;
  /** Tells the client to stop the agent, now and after every reopen. */
  cancel(requestId: string): void;
  /** The calls end; the run stays open for its reconnect window elsewhere. */
  detach(error: BridgeError): void;
  /** Wakes the call: something was committed, or the run is over. */
  notify(): void;
}

export function createIngestSource(options: IngestSourceOptions): IngestSource {
  const { owned } = options;
  const { run } = owned;
  let current: { end(error: BridgeError): void } | undefined;
  let cancelRequestId: string | undefined;
  let isEnding = false;
  let windowTimer: NodeJS.Timeout | undefined;
  let wakeCall = (): void => undefined;

  function end(exit: Exit, synthetic = false): void {
    if (isEnding) return;
    isEnding = true;
    clearTimeout(windowTimer);
    options.finish({ exit, synthetic, cancelSignalled: owned.desk.signalled });
  }

  function startWindow(): void {
    clearTimeout(windowTimer);
    if (isEnding) return;
    const message = `no Ingest call for ${options.reconnectWindowMs} ms; the client is gone`;
    windowTimer = setTimeout(
      () => end({ kind: 'owner-gone', message }, true),
      options.reconnectWindowMs,
    );
  }
  startWindow();

  async function take(request: IngestRequest): Promise<'exit' | 'more'> {
    const { message } = request;
    switch (message.case) {
      case 'stdout':
        run.stdout(newBytes(message.value, run.stdoutOffset, 'stdout'));
        break;
      case 'stderr':
        run.stderr(newBytes(message.value, run.stderrOffset, 'stderr'));
        break;
      case 'signalled':
        owned.desk.report(message.value, message.value.requestId);
        break;
      case 'exit':
        end(exitOf(message.value, run.stdoutOffset, run.stderrOffset));
        return 'exit';
      case 'open':
        throw new BridgeError('INVALID_REQUEST', 'open came twice; it is the first message only');
      case undefined:
        throw new BridgeError('INVALID_REQUEST', 'an IngestRequest without a message');
    }
    await run.ready();
    return 'more';
  }

  async function takeAll(requests: AsyncIterator<IngestRequest>): Promise<void> {
    for (;;) {
      const next = await requests.next();
      if (next.done === true || (await take(next.value)) === 'exit') return;
    }
  }

  return {
    cancel(requestId) {
      cancelRequestId = requestId;
      wakeCall();
    },
    notify() {
      wakeCall();
    },
    detach(error) {
      current?.end(error);
    },
    async *attach(requests, signal) {
      const wake = createWake();
      let over: BridgeError | undefined;
      let isRequestsDone = false;
      let finished = false;
      const call = {
        end(error: BridgeError): void {
          over ??= error;
          wake.wake();
        },
      };
      current?.end(
        new BridgeError('INGEST_TAKEN_OVER', `a later Ingest call took run ${run.runId} over`),
      );
      current = call;
      wakeCall = wake.wake;
      clearTimeout(windowTimer);
      const onAbort = (): void =>
        call.end(new BridgeError('CANCELLED', 'the client left the call'));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      const settle = (): void => {
        finished = true;
        wake.wake();
      };
      owned.finished.then(settle, settle);
      try {
        yield opened(options, run.stdoutOffset, run.stderrOffset);
        takeAll(requests).then(
          () => {
            isRequestsDone = true;
            wake.wake();
          },
          (thrown: unknown) => call.end(thrown as BridgeError),
        );
        let sentSequence = 0;
        let sentCancel: string | undefined;
        for (;;) {
          if (owned.failure !== undefined) throw owned.failure;
          if (run.committed.sequence > sentSequence) {
            sentSequence = run.committed.sequence;
            yield ack(owned);
          }
          if (finished) {
            yield response({ case: 'finished', value: { run: toRunMessage(owned.record) } });
            return;
          }
          if (over !== undefined) throw over;
          if (cancelRequestId !== undefined && cancelRequestId !== sentCancel && !isEnding) {
            sentCancel = cancelRequestId;
            yield cancelMessage(options, cancelRequestId);
          }
          // The client closed its side without an exit: cut, it may open again.
          if (isRequestsDone && !isEnding) return;
          await wake.next();
        }
      } finally {
        signal.removeEventListener('abort', onAbort);
        if (current === call) {
          current = undefined;
          wakeCall = () => undefined;
          startWindow();
        }
      }
    },
  };
}

type ResponseMessage = Parameters<typeof create<typeof IngestResponseSchema>>[1];

function response(message: NonNullable<ResponseMessage>['message']): IngestResponse {
  return create(IngestResponseSchema, { message } as NonNullable<ResponseMessage>);
}

function opened(options: IngestSourceOptions, stdout: number, stderr: number): IngestResponse {
  return response({
    case: 'opened',
    value: {
      stdoutOffset: BigInt(stdout),
      stderrOffset: BigInt(stderr),
      maxChunkBytes: MAX_CHUNK_BYTES,
      reconnectWindow: durationFromMs(options.reconnectWindowMs),
    },
  });
}

function ack(owned: OwnedRun): IngestResponse {
  const { sequence, offsets } = owned.run.committed;
  return response({
    case: 'ack',
    value: {
      stdoutOffset: BigInt(offsets.stdout),
      stderrOffset: BigInt(offsets.stderr),
      sequence: BigInt(sequence),
    },
  });
}

function cancelMessage(options: IngestSourceOptions, requestId: string): IngestResponse {
  return response({
    case: 'cancel',
    value: {
      requestId,
      interruptGrace: durationFromMs(options.interruptGraceMs),
      terminateGrace: durationFromMs(options.terminateGraceMs),
    },
  });
}

/** What of a chunk was not seen before. */
function newBytes(chunk: IngestChunk, seen: number, stream: string): Uint8Array {
  const offset = Number(chunk.offset);
  if (chunk.data.length > MAX_CHUNK_BYTES) {
    throw new BridgeError(
      'INVALID_REQUEST',
      `a ${stream} chunk of ${chunk.data.length} bytes; at most ${MAX_CHUNK_BYTES}`,
    );
  }
  if (offset > seen || offset < 0) {
    throw new BridgeError(
      'INGEST_GAP',
      `${stream} chunk at ${offset}, but only ${seen} bytes were seen; open again and send from there`,
      { metadata: { expected_offset: String(seen) } },
    );
  }
  return chunk.data.subarray(Math.min(seen - offset, chunk.data.length));
}

function exitOf(exit: IngestExit, stdoutSeen: number, stderrSeen: number): Exit {
  if (exit.spawnError !== '') return { kind: 'spawn-failed', message: exit.spawnError };
  if (Number(exit.stdoutBytes) !== stdoutSeen || Number(exit.stderrBytes) !== stderrSeen) {
    throw new BridgeError(
      'INGEST_GAP',
      `exit says stdout ${exit.stdoutBytes} and stderr ${exit.stderrBytes} bytes, ` +
        `but ${stdoutSeen} and ${stderrSeen} were seen; open again and send the rest`,
    );
  }
  if (exit.signal !== '') return { kind: 'signal', signal: exit.signal };
  if (exit.exitCode !== undefined) return { kind: 'code', code: exit.exitCode };
  return { kind: 'unknown' };
}
