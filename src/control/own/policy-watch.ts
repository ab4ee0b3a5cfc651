import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import type { Policies } from '../../ingest/policies.js';
import type { Run } from '../../ingest/run.js';
import { type CancelOrder, ownOrder } from '../cancel/cancel-order.js';

/** Holds a run to its policies. */
export interface PolicyWatch {
  /** More of the source was read: looks at what only that can change. */
  read(): void;
  /** Looks at the clock; `nowMs` is monotonic. */
  tick(nowMs: number): void;
}

export interface PolicyWatchOptions {
  readonly run: Pick<
    Run,
    'facts' | 'frames' | 'hasHeader' | 'isHeldBack' | 'lastSequence' | 'stdoutOffset'
  >;
  readonly policies: Policies;
  /** When the run was created, on the clock of `tick`. */
  readonly createdMs: number;
  /** Whether bytes could come now: a process, or a client's call, is there. */
  readonly isListening: () => boolean;
  /** Called once for each policy that is reached. */
  readonly onReached: (order: CancelOrder) => void;
}

const TICK_MS = 250;
/** A tick that comes so late says that this process stood still: what waits in the pipe is not read yet. */
const LATE_MS = 1_000;

type Check = (nowMs: number, isLate: boolean) => CancelOrder | undefined;

export function createPolicyWatch(options: PolicyWatchOptions): PolicyWatch {
  const { run, policies, createdMs, isListening, onReached } = options;
  const { deadlineMs, stallMs, headerWithinMs } = policies;
  let lastTickMs: number | undefined;
  let frames = run.frames;
  let lastLifeMs: number | undefined;

  const byRead = sizeChecks(run, policies);
  const byClock: Check[] = [];
  if (deadlineMs !== undefined) {
    byClock.push((nowMs) => {
      if (nowMs - createdMs < deadlineMs) return undefined;
      const reason = `the deadline of ${deadlineMs} ms has passed`;
      return ownOrder(CancelCause.DEADLINE, 'policy:deadline', reason);
    });
  }
  if (headerWithinMs !== undefined) {
    byClock.push((nowMs, isLate) => {
      if (run.hasHeader || isLate || nowMs - createdMs < headerWithinMs) return undefined;
      const reason = `no hep_header within ${headerWithinMs} ms`;
      return ownOrder(CancelCause.NO_HEADER, 'policy:header', reason);
    });
  }
  if (stallMs !== undefined) {
    byClock.push((nowMs, isLate) => {
      const isQuiet = run.frames === frames && isListening() && !run.isHeldBack && !isLate;
      frames = run.frames;
      if (!isQuiet || lastLifeMs === undefined) lastLifeMs = nowMs;
      if (nowMs - lastLifeMs < stallMs) return undefined;
      return ownOrder(CancelCause.STALLED, 'policy:stall', `no frame for ${stallMs} ms`);
    });
  }

  function look(checks: Check[], nowMs: number, isLate: boolean): void {
    for (const check of [...checks]) {
      const order = check(nowMs, isLate);
      if (order === undefined) continue;
      checks.splice(checks.indexOf(check), 1);
      onReached(order);
    }
  }

  return {
    read() {
      if (byRead.length > 0) look(byRead, 0, false);
    },
    tick(nowMs) {
      const isLate = lastTickMs !== undefined && nowMs - lastTickMs > LATE_MS;
      lastTickMs = nowMs;
      look(byClock, nowMs, isLate);
    },
  };
}

/** Lets the runs of this gateway look at the clock; returns what ends that. */
export function watchPolicies(
  owned: ReadonlyMap<string, { tick(nowMs: number): void }>,
): () => void {
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const run of owned.values()) run.tick(nowMs);
  }, TICK_MS);
  return () => clearInterval(timer);
}

function sizeChecks(run: PolicyWatchOptions['run'], policies: Policies): Check[] {
  const { maxTokens, maxCost, maxEvents, maxStdoutBytes } = policies;
  const checks: Check[] = [];
  function above(
    limit: number | undefined,
    cause: CancelCause,
    name: string,
    what: string,
    read: () => number,
  ): void {
    if (limit === undefined) return;
    checks.push(() => {
      const value = read();
      if (value <= limit) return undefined;
      return ownOrder(cause, `policy:${name}`, `${value} ${what}, the limit is ${limit}`);
    });
  }
  const { facts } = run;
  above(maxTokens, CancelCause.BUDGET, 'tokens', 'tokens', () =>
    Number((facts.usage?.input ?? 0n) + (facts.usage?.output ?? 0n)),
  );
  above(maxCost, CancelCause.BUDGET, 'cost', 'of cost', () => facts.usage?.cost ?? 0);
  above(maxEvents, CancelCause.SIZE, 'events', 'events', () => run.lastSequence);
  above(maxStdoutBytes, CancelCause.SIZE, 'bytes', 'bytes of stdout', () => run.stdoutOffset);
  return checks;
}
