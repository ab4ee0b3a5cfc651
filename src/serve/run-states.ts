import { fromBinary } from '@bufbuild/protobuf';
import { EventBatchSchema } from '#gen/hep/event/v1/event_pb.js';
import type { LogReader } from '../log/log-reader.js';
import type { StoredMessage } from '../log/stored-message.js';
import type { ChainState } from './chain-check.js';
import type { LookupRun } from './run-lookup.js';
import { subjectPrefixOf } from './subject-filter.js';
import type { Target } from './subscribe-plan.js';

/** What a subscription remembers of one run that it reads. */
export interface RunState {
  readonly chain: ChainState;
  /** Sequence of the big event whose parts are being delivered; 0 if none. */
  openEvent: number;
}

/** Says which messages belong to a subscription. */
export interface RunStates {
  /** State of the message's run; undefined if the run is not selected. */
  of(message: StoredMessage): RunState | undefined | Promise<RunState | undefined>;
  /** The run is over: nothing more of it will come. */
  forget(runId: string): void;
}

/** Runs a filter's subscription remembers; the oldest beyond are looked up again. */
const maxRuns = 10_000;

/** State of a reader of a run at a place; `seen` undefined = anything may come first. */
export function newRunState(seen: number | undefined, streamSequence: number): RunState {
  const stderr = seen === 0 ? 0 : undefined;
  return { chain: { main: seen, stderr, streamSequence }, openEvent: 0 };
}

/** For one run. */
export function oneRun(runId: string, tenantToken: string, state: RunState): RunStates {
  return {
    of: (message) =>
      message.runId === runId && message.tenantToken === tenantToken ? state : undefined,
    forget: () => {},
  };
}

/** For all runs of a tenant that `filter` selects. */
export function filteredRuns(
  filter: Extract<Target, { kind: 'filter' }>,
  tenant: string,
  tenantToken: string,
  reader: LogReader,
  lookup: LookupRun,
): RunStates {
  const isForAll = filter.labels.length === 0 && filter.partitionKey === '';
  const known = new Map<string, RunState | null>();
  const remember = (message: StoredMessage, isSelected: boolean): RunState | undefined => {
    const state = newRunState(
      message.firstSequence === 1 ? 0 : undefined,
      message.streamSequence - 1,
    );
    if (known.size >= maxRuns) {
      const oldest = known.keys().next();
      if (oldest.done !== true) known.delete(oldest.value);
    }
    known.set(message.runId, isSelected ? state : null);
    return isSelected ? state : undefined;
  };
  return {
    of: (message) => {
      if (message.tenantToken !== tenantToken) return undefined;
      const state = known.get(message.runId);
      if (state !== undefined) return state ?? undefined;
      if (isForAll) return remember(message, true);
      return factsOfRun(message, tenant, reader, lookup).then((facts) =>
        remember(message, facts !== undefined && selects(filter, facts)),
      );
    },
    forget: (runId) => known.delete(runId),
  };
}

interface RunFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly partitionKey: string;
}

function selects(filter: Extract<Target, { kind: 'filter' }>, run: RunFacts): boolean {
  if (filter.partitionKey !== '' && filter.partitionKey !== run.partitionKey) return false;
  return filter.labels.every(
    ([key, value]) => Object.hasOwn(run.labels, key) && run.labels[key] === value,
  );
}

/** From RunStarted if it is at hand, else the run's record, else RunStarted in the log. */
async function factsOfRun(
  message: StoredMessage,
  tenant: string,
  reader: LogReader,
  lookup: LookupRun,
): Promise<RunFacts | undefined> {
  return (
    factsIn(message) ??
    (await lookup(tenant, message.runId)) ??
    factsIn(await reader.firstOfRun(subjectPrefixOf(message)))
  );
}

function factsIn(message: StoredMessage | undefined): RunFacts | undefined {
  if (message?.firstSequence !== 1 || message.class !== 'step') return undefined;
  const started = fromBinary(EventBatchSchema, message.body).events[0]?.payload;
  return started?.case === 'runStarted' ? started.value : undefined;
}
