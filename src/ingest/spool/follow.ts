import { type ExitFacts, readExit } from './exit-file.js';
import type { SpoolStream } from './layout.js';
import { type ProcessRecord, readProcessRecord } from './process-file.js';
import { watchRun } from './run-watch.js';
import { StreamReader } from './stream-reader.js';
import { endedUnseen } from './unseen-exit.js';

export interface FollowOptions {
  /** The run's spool directory. */
  readonly dir: string;
  /** Byte offset of the first byte of stdout to deliver. */
  readonly fromStdout: number;
  readonly fromStderr: number;
  /** Nobody writes any more and nobody saw the end: deliver what there is. Default false. */
  readonly gone?: boolean;
  /** Called once if nobody saw the end; clears what the child left and returns how many there were. */
  readonly onUnseenEnd?: () => number;
  /** Ends the wait: the iteration then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Bytes of one stream, in order and without holes. */
export interface SpoolChunk {
  readonly stream: SpoolStream;
  /** Offset of the first byte in the stream. */
  readonly offset: number;
  /** 1 byte to 256 KiB; the receiver's own. */
  readonly bytes: Uint8Array;
}

/** The last item: everything that stood in the files when the process ended was delivered. */
export interface SpoolEnd {
  readonly exit: ExitFacts;
  /** Bytes that stand in the files behind what was delivered: others wrote them after the end. */
  readonly lateStdoutBytes: number;
  readonly lateStderrBytes: number;
}

export type SpoolItem = SpoolChunk | SpoolEnd;

/**
 * What a child writes, as it writes it, and at last how it ended. Reads only when asked for the next
 * item, so a slow consumer costs no memory. While both streams grow they take turns. What a
 * process that outlives the child writes before the keeper has noted the exit may still be delivered;
 * later bytes are counted only. If somebody cuts a file short, nothing is delivered until it is longer
 * than what was read. Throws the system's error if the spool is missing.
 */
export async function* followSpool(options: FollowOptions): AsyncGenerator<SpoolItem, void, void> {
  const { dir, signal } = options;
  signal?.throwIfAborted();
  const stdout = new StreamReader(dir, 'stdout', options.fromStdout);
  const stderr = openSecond(dir, options.fromStderr, stdout);
  const state: FollowState = {
    dir,
    stdout,
    stderr,
    onUnseenEnd: options.onUnseenEnd,
    child: undefined,
    exit: undefined,
    exitMayBeThere: true,
  };
  if (options.gone) giveUp(state);
  let woken = false;
  let wake = (): void => undefined;
  const rouse = (): void => {
    woken = true;
    wake();
  };
  const endWatch = watchRun({
    dir,
    onStream: rouse,
    onExit: () => {
      state.exitMayBeThere = true;
      rouse();
    },
    onSweep: () => {
      if (lookAround(state)) rouse();
    },
  });
  signal?.addEventListener('abort', rouse);
  try {
    let first = stdout;
    let second = stderr;
    for (;;) {
      woken = false;
      learnExit(state);
      const chunk = readChunk(first, state) ?? readChunk(second, state);
      if (chunk !== undefined) {
        if (chunk.stream === first.stream) [first, second] = [second, first];
        yield chunk;
      } else if (state.exit !== undefined) {
        yield endOf(state, state.exit);
        return;
      } else if (!woken) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      signal?.throwIfAborted();
    }
  } finally {
    signal?.removeEventListener('abort', rouse);
    endWatch();
    stdout.close();
    stderr.close();
  }
}

interface FollowState {
  readonly dir: string;
  readonly stdout: StreamReader;
  readonly stderr: StreamReader;
  readonly onUnseenEnd: FollowOptions['onUnseenEnd'];
  child: ProcessRecord | undefined;
  exit: ExitFacts | undefined;
  /** Whether it is worth a look; without news the file is not asked for at each read. */
  exitMayBeThere: boolean;
}

function openSecond(dir: string, fromOffset: number, opened: StreamReader): StreamReader {
  try {
    return new StreamReader(dir, 'stderr', fromOffset);
  } catch (error) {
    opened.close();
    throw error;
  }
}

function readChunk(reader: StreamReader, { exit }: FollowState): SpoolChunk | undefined {
  const { stream, offset } = reader;
  const end = exit === undefined ? Number.POSITIVE_INFINITY : exit[`${stream}Bytes`];
  const bytes = reader.read(end);
  return bytes === undefined ? undefined : { stream, offset, bytes };
}

function learnExit(state: FollowState): void {
  if (state.exit !== undefined || !state.exitMayBeThere) return;
  state.exitMayBeThere = false;
  state.exit = readExit(state.dir);
}

/** The sweep: whether there is something that no watch has told. */
function lookAround(state: FollowState): boolean {
  if (state.exit !== undefined) return false;
  state.exitMayBeThere = true;
  learnExit(state);
  if (state.exit !== undefined) return true;
  const { stdout, stderr, dir } = state;
  if (stdout.size > stdout.offset || stderr.size > stderr.offset) return true;
  state.child ??= readProcessRecord(dir);
  if (state.child === undefined || !endedUnseen(state.child)) return false;
  giveUp(state);
  return true;
}

function giveUp(state: FollowState): void {
  const { dir, stdout, stderr } = state;
  // The keeper may have written it as its last deed, since anybody looked.
  state.exit = readExit(dir);
  if (state.exit !== undefined) return;
  const [stdoutBytes, stderrBytes] = [stdout.size, stderr.size];
  const leftover = state.onUnseenEnd?.() ?? 0;
  state.exit = { unknown: true, stdoutBytes, stderrBytes, leftover };
}

function endOf({ stdout, stderr }: FollowState, exit: ExitFacts): SpoolEnd {
  return {
    exit,
    lateStdoutBytes: Math.max(0, stdout.size - stdout.offset),
    lateStderrBytes: Math.max(0, stderr.size - stderr.offset),
  };
}
