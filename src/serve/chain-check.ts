import { BridgeError } from '../errors.js';
import type { LogReader } from '../log/log-reader.js';
import type { StoredMessage } from '../log/stored-message.js';
import type { BatchHead } from './batch-walk.js';

/** What a subscriber has seen of one run; undefined until the first message of an unknown start. */
export interface ChainState {
  /** Last sequence in messages of class step, delta or (whole) part. */
  main: number | undefined;
  /** Last sequence in messages of class stderr. */
  stderr: number | undefined;
  /** Stream sequence of the last message seen, or of the place where reading began. */
  streamSequence: number;
}

/**
 * Whether `message` comes right after what `state` has seen. `stepsOnly`: for a reader that does not
 * get messages of class delta.
 */
export function followsChain(
  state: ChainState,
  message: StoredMessage,
  head: BatchHead,
  stepsOnly: boolean,
): boolean {
  if (message.class === 'stderr') {
    return state.stderr === undefined || head.previousSequence <= state.stderr;
  }
  const previous = stepsOnly ? head.previousStepSequence : head.previousSequence;
  return state.main === undefined || previous <= state.main;
}

/** Moves `state` past `message`. A part does not move the chain: its event is not whole yet. */
export function moveChain(state: ChainState, message: StoredMessage): void {
  state.streamSequence = message.streamSequence;
  if (message.class === 'stderr') state.stderr = message.lastSequence;
  else if (message.class !== 'part') state.main = message.lastSequence;
}

/**
 * Why the chain is broken before `message`: `HISTORY_GONE` if retention has passed the last message seen
 * of the run (then it may well be what took the next ones), else `LOG_HOLE`.
 */
export async function brokenChain(
  reader: LogReader,
  message: StoredMessage,
  state: ChainState,
): Promise<BridgeError> {
  const { firstStreamSequence } = await reader.bounds();
  if (firstStreamSequence > state.streamSequence + 1)
    return historyGone(message.runId, message.firstSequence);
  const seen = message.class === 'stderr' ? state.stderr : state.main;
  return new BridgeError(
    'LOG_HOLE',
    `the log has a hole in run ${message.runId}: events between sequence ${seen ?? 0} and ` +
      `${message.firstSequence} are missing though retention has not reached them`,
    {
      metadata: {
        run_id: message.runId,
        after_sequence: String(seen ?? 0),
        next_sequence: String(message.firstSequence),
      },
    },
  );
}

/** Retention took events away; `firstSequence` is the oldest event kept, 0 if none is. */
export function historyGone(runId: string, firstSequence: number): BridgeError {
  const kept =
    firstSequence === 0
      ? 'the log keeps no event of it'
      : `the oldest event kept has sequence ${firstSequence}`;
  return new BridgeError(
    'HISTORY_GONE',
    `retention took this part of run ${runId} away: ${kept}; subscribe from EARLIEST`,
    { metadata: { run_id: runId, first_sequence: String(firstSequence) } },
  );
}
