import { setTimeout as delay } from 'node:timers/promises';
import { type Run, Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import type { BridgeClient, RunEvent } from '../client/bridge-client.js';
import type { ReconnectNote } from './reconnect-note.js';

export interface FollowCancelOptions {
  readonly runId: string;
  /** Of CancelRequested. */
  readonly requestedSequence: bigint;
  /** Undefined: until the run is over. */
  readonly waitMs: number | undefined;
  readonly note: ReconnectNote;
  /** Called with each event from CancelRequested on, without deltas. */
  readonly onEvent: (event: RunEvent) => Promise<unknown>;
}

/** Waits for the end of a run that was asked to end; the run as it is then. */
export async function followCancel(
  client: BridgeClient,
  options: FollowCancelOptions,
): Promise<Run> {
  const { runId, waitMs } = options;
  const over = new AbortController();
  const timer = waitMs === undefined ? undefined : setTimeout(() => over.abort(), waitMs);
  try {
    const isOver = await readToEnd(client, options, over.signal);
    return isOver ? await finishedRun(client, runId) : await client.getRun(runId);
  } finally {
    clearTimeout(timer);
  }
}

/** False if the time was over before the run. */
async function readToEnd(
  client: BridgeClient,
  { runId, requestedSequence, note, onEvent }: FollowCancelOptions,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const events = client.subscribe(
      {
        target: { case: 'runId', value: runId },
        start: { case: 'afterSequence', value: requestedSequence - 1n },
        skipDeltas: true,
      },
      {
        signal,
        onNotice: (notice) => {
          if (notice.kind === 'reconnecting') note.cut(notice.error);
          else note.answered();
        },
      },
    );
    for await (const event of events) await onEvent(event);
    return true;
  } catch (thrown) {
    if (signal.aborted) return false;
    throw thrown;
  }
}

const polls = 50;
const pollMs = 100;

/** The log has the end of a run a moment before its record says so. */
async function finishedRun(client: BridgeClient, runId: string): Promise<Run> {
  let run = await client.getRun(runId);
  for (let left = polls; run.state !== Run_State.FINISHED && left > 0; left--) {
    await delay(pollMs);
    run = await client.getRun(runId);
  }
  return run;
}
