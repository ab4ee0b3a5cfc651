import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { type Run, Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import { oneLine } from './printable.js';
import { ageText, tookText } from './span-text.js';
import { tableText } from './table.js';

const head = [
  'RUN',
  'STATE',
  'AGE',
  'LAST EVENT',
  'EVENTS',
  'OWNER',
  'OUTCOME',
  'WHY',
  'LABELS',
] as const;

/** Lines are kept within so much even on a narrower terminal: a run id alone takes 36. */
const leastLineChars = 120;
const leastWhyChars = 16;
const none = '-';

/** One line a run; WHY is cut to what a line of `lineChars` leaves for it. LABELS if a run has some. */
export function runsTable(runs: readonly Run[], nowMs: number, lineChars: number): string {
  const hasLabels = runs.some(({ labels }) => Object.keys(labels).length > 0);
  const columns = hasLabels ? head.length : head.indexOf('LABELS');
  const rows = [head, ...runs.map((run) => row(run, nowMs))].map((cells) =>
    cells.slice(0, columns),
  );
  return tableText(rows, {
    column: head.indexOf('WHY'),
    leastChars: leastWhyChars,
    lineChars: Math.max(leastLineChars, lineChars),
  });
}

function row(run: Run, nowMs: number): string[] {
  return [
    run.runId,
    Run_State[run.state]?.toLowerCase() ?? String(run.state),
    age(run, nowMs),
    lastEvent(run, nowMs),
    String(run.lastSequence),
    run.ownerId.slice(0, 8) || none,
    run.outcome === Outcome.UNSPECIFIED ? none : (Outcome[run.outcome] ?? String(run.outcome)),
    why(run),
    Object.entries(run.labels)
      .map(([key, value]) => `${key}=${oneLine(value, 40)}`)
      .join(' '),
  ];
}

function age({ createTime, finishTime }: Run, nowMs: number): string {
  if (createTime === undefined) return none;
  const begun = ageText(sinceMs(createTime, nowMs));
  if (finishTime === undefined) return begun;
  return `${begun}, took ${tookText(timestampMs(finishTime) - timestampMs(createTime))}`;
}

function lastEvent({ state, lastEventTime }: Run, nowMs: number): string {
  if (state === Run_State.FINISHED || lastEventTime === undefined) return none;
  return `${ageText(sinceMs(lastEventTime, nowMs))} ago`;
}

function why({ state, cancelRequested, detail }: Run): string {
  if (state !== Run_State.FINISHED) return cancelRequested ? 'cancelling' : none;
  return oneLine(detail, 1_024) || none;
}

/** The bridge's clock may be ahead of this one. */
function sinceMs(then: Timestamp, nowMs: number): number {
  return Math.max(0, nowMs - timestampMs(then));
}
