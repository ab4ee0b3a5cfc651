import type { ChildProcess } from 'node:child_process';
import type { RunPlan } from './plan.js';

/** A cancel that was asked for. */
export interface AskedCancel {
  readonly requestId: string;
  readonly askedMs: number;
  /** Of CancelRequested, as answered; 0 = the run was over, undefined = no answer. */
  sequence: number | undefined;
}

/** One run, and what the test did to it; written on as it goes. */
export interface RunFacts {
  readonly plan: RunPlan;
  readonly runId: string;
  readonly agentJournal: string;
  readonly feedJournal: string;
  readonly startedMs: number;
  /** Somebody was told that the run exists. */
  isAcknowledged: boolean;
  client: ChildProcess | undefined;
  isClientKilled: boolean;
  isAgentKilled: boolean;
  readonly cancels: AskedCancel[];
}
