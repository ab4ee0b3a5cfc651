import type {
  IngestChunk,
  IngestExit,
  IngestRequest,
  IngestResponse,
  IngestSignalled,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import type { Exit } from '../../ingest/outcome.js';
import { createWake } from '../../wake.js';
import type { SignalReport } from '../cancel/cancel-desk.js';
import type { Graces } from '../cancel/graces.js';
import type { OwnedRun } from '../own/owned-run.js';
import {
  ackMessage,
  cancelMessage,
  finishedMessage,
  MAX_CHUNK_BYTES,
  openedMessage,
} from './ingest-response.js';

export interface IngestSourceOptions {
  readonly owned: OwnedRun;
  /** Without an Ingest call for so long the run ends as LOST. */
  readonly reconnectWindowMs: number;
  /** The window has passed. */
  readonly onAbandoned: (message: string) => Promise<void>;
  readonly stopping: AbortSignal;
}

/** The source of a run whose agent belongs to a client: the calls that carry its bytes. */
export interface IngestSource {
  /** A call is open. */
  readonly isAttached: boolean;
  /** One Ingest call, from behind its `open`; a call that is still there ends with `ABORTED`. */
  attach(
    requests: AsyncIterator<IngestRequest>,
    signal: AbortSignal,
  ): AsyncIterable<IngestResponse>;
  /** Tells the client to stop the agent, now and after every reopen; a later call stands for all. */
  cancel(requestId: string, graces: Graces): void;
  /** Something was committed, or the run is over or lost. */
  notify(): void;
}

/** Of a client's words on why a signal was not sent. */
const MAX_ERROR_CHARACTERS = 256;

/** A call that is under way; `end` ends it with a status. */
interface Call {
  readonly end: (error: BridgeError) => void;
  readonly wake: () => void;
}

export function createIngestSource(options: IngestSourceOptions): IngestSource {
  const { owned, stopping } = options;
  const { run } = owned;
  let current: Call | undefined;
  let cancel: { readonly requestId: string; readonly graces: Graces } | undefined;
  let isEnding = false;
  let windowTimer: NodeJS.Timeout | undefined;

  function end(exit: Exit): void {
    isEnding = true;
    owned.finish({ exit });
  }

  function startWindow(): void {
    if (isEnding || stopping.aborted) return;
    windowTimer = setTimeout(() => {
      isEnding = true;
      void options.onAbandoned(`the client stayed away for ${options.reconnectWindowMs} ms`);
    }, options.reconnectWindowMs);
  }

  const stopWindow = (): void => clearTimeout(windowTimer);
  startWindow();
  stopping.addEventListener('abort', stopWindow, { once: true });
  void owned.closed.then(() => {
    stopWindow();
    stopping.removeEventListener('abort', stopWindow);
  });

  function take({ message }: IngestRequest): void {
    switch (message.case) {
      case 'stdout':
        run.stdout(newBytes(message.value, run.stdoutOffset, 'stdout'));
        break;
      case 'stderr':
        run.stderr(newBytes(message.value, run.stderrOffset, 'stderr'));
        break;
      case 'signalled':
        checkSignal(message.value.signal);
        owned.desk.report(clipped(message.value), message.value.requestId);
        break;
      case 'exit':
        end(exitOf(message.value, run.stdoutOffset, run.stderrOffset));
        break;
      case 'open':
        throw new BridgeError('INVALID_REQUEST', 'open is the first message of a call, once');
      case undefined:
        throw new BridgeError('INVALID_REQUEST', 'an IngestRequest without a message');
    }
  }

  /** Takes a call's requests, as fast as the log takes the run, to its exit or its end. */
  async function takeAll(requests: AsyncIterator<IngestRequest>, call: Call): Promise<void> {
    while (!isEnding) {
      const next = await requests.next();
      if (next.done === true || call !== current) return;
      take(next.value);
      await run.ready();
    }
  }

  return {
    get isAttached() {
      return current !== undefined;
    },
    cancel(requestId, graces) {
      cancel = { requestId, graces };
      current?.wake();
    },
    notify() {
      current?.wake();
    },
    async *attach(requests, signal) {
      const { wake, next } = createWake();
      let error: BridgeError | undefined;
      let isCut = false;
      const call: Call = {
        wake,
        end: (reason) => {
          error ??= reason;
          wake();
        },
      };
      const { runId } = run;
      current?.end(new BridgeError('INGEST_TAKEN_OVER', `a later call took run ${runId} over`));
      current = call;
      stopWindow();
      const onAbort = (): void => call.end(new BridgeError('CANCELLED', 'the client left'));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      try {
        yield openedMessage(options, { stdout: run.stdoutOffset, stderr: run.stderrOffset });
        takeAll(requests, call).then(
          () => {
            isCut = !isEnding;
            wake();
          },
          (thrown: unknown) => call.end(toBridgeError(thrown)),
        );
        let ackedSequence = 0;
        let sentCancel: typeof cancel;
        for (;;) {
          const { sequence, offsets } = run.committed;
          if (sequence > ackedSequence) {
            ackedSequence = sequence;
            yield ackMessage(sequence, offsets);
          }
          if (owned.record.run.state === Run_State.FINISHED) {
            yield finishedMessage(owned.record.run);
            return;
          }
          if (owned.failure !== undefined) throw owned.failure;
          if (error !== undefined) throw error;
          // The client closed its side without an exit: it may open again.
          if (isCut) return;
          if (cancel !== undefined && cancel !== sentCancel) {
            sentCancel = cancel;
            yield cancelMessage(cancel.requestId, cancel.graces);
          }
          await next();
        }
      } finally {
        signal.removeEventListener('abort', onAbort);
        if (current === call) {
          current = undefined;
          startWindow();
        }
      }
    },
  };
}

/** What of a chunk was not seen before. */
function newBytes(chunk: IngestChunk, seen: number, stream: string): Uint8Array {
  const offset = Number(chunk.offset);
  const { length } = chunk.data;
  if (length > MAX_CHUNK_BYTES) {
    const text = `a ${stream} chunk of ${length} bytes; at most ${MAX_CHUNK_BYTES}`;
    throw new BridgeError('INVALID_REQUEST', text);
  }
  if (offset < 0 || offset > seen) {
    const text = `a ${stream} chunk at ${offset}, but ${seen} bytes were seen; open again, go on there`;
    throw new BridgeError('INGEST_GAP', text, { metadata: { expected_offset: String(seen) } });
  }
  return chunk.data.subarray(Math.min(seen - offset, length));
}

/** A signal by its name, as a client reports it; empty only where there is none. */
function checkSignal(signal: string): void {
  if (/^SIG[A-Z0-9+-]{1,16}$/.test(signal)) return;
  const seen = JSON.stringify(signal.slice(0, 32));
  throw new BridgeError('INVALID_REQUEST', `${seen} is no name of a signal, such as SIGTERM`);
}

function clipped({ signal, processGroup, error }: IngestSignalled): SignalReport {
  return { signal, processGroup, error: error.slice(0, MAX_ERROR_CHARACTERS).toWellFormed() };
}

function exitOf(exit: IngestExit, stdoutSeen: number, stderrSeen: number): Exit {
  if (exit.spawnError !== '') return { kind: 'spawn-failed', message: exit.spawnError };
  if (Number(exit.stdoutBytes) !== stdoutSeen || Number(exit.stderrBytes) !== stderrSeen) {
    const text =
      `exit says ${exit.stdoutBytes} bytes of stdout and ${exit.stderrBytes} of stderr, ` +
      `but ${stdoutSeen} and ${stderrSeen} were seen; open again and send the rest`;
    throw new BridgeError('INGEST_GAP', text);
  }
  if (exit.signal !== '') {
    checkSignal(exit.signal);
    return { kind: 'signal', signal: exit.signal };
  }
  return exit.exitCode === undefined ? { kind: 'unknown' } : { kind: 'code', code: exit.exitCode };
}
