import { setTimeout as delay } from 'node:timers/promises';
import type { CancelSignal } from '../spool/layout.js';
import type { SignalMarks } from './signal-marks.js';

/** Brings a signal to a process, here or at a remote client. */
export interface Signaller {
  /** Never rejects; `error` is the system's code (`ESRCH`: it has ended) or what hindered it. */
  send(signal: CancelSignal, group: boolean): Promise<{ readonly error?: string }>;
}

/** A signal that was sent, or that could not be. */
export interface SignalReport {
  readonly signal: CancelSignal;
  /** Whether it went to the whole process group. */
  readonly processGroup: boolean;
  /** Why it did not arrive; absent if it did. */
  readonly error?: string;
}

export interface Graces {
  /** Time between SIGINT and SIGTERM. Default 12 000: `fa` takes up to 10 s to end in order. */
  readonly interruptGraceMs?: number;
  /** Time between SIGTERM and SIGKILL. Default 5 000. */
  readonly terminateGraceMs?: number;
}

export interface EscalateOptions extends Graces {
  readonly signaller: Signaller;
  readonly marks: SignalMarks;
  /** Aborted when the process has ended, or when the escalation is to stop. */
  readonly ended: AbortSignal;
  /** Called after each signal that this escalation was the first to send. Nothing waits for it. */
  readonly onSignal: (report: SignalReport) => void;
}

const killRetryMs = 1_000;

/**
 * SIGINT to the process alone, after a grace SIGTERM, after a grace SIGKILL to its group; returns when
 * the process has ended or SIGKILL was sent. Each signal is marked before it is sent and one that was
 * marked is not sent again, so a second escalation, also one after a restart, goes on where the first
 * is: it waits for what is left of the grace. Only SIGKILL, of which more than one does no harm, is
 * sent whether or not it was marked, and again while it cannot be brought to the process.
 */
export async function escalate(options: EscalateOptions): Promise<void> {
  const { interruptGraceMs = 12_000, terminateGraceMs = 5_000, ended } = options;
  await takeStep(options, 'SIGINT', interruptGraceMs);
  await takeStep(options, 'SIGTERM', terminateGraceMs);
  if (ended.aborted) return;
  const { first } = await options.marks.mark('SIGKILL');
  let report = await send(options, 'SIGKILL', true);
  if (first) options.onSignal(report);
  while (report.error !== undefined && report.error !== 'ESRCH' && !ended.aborted) {
    await pause(killRetryMs, ended);
    if (!ended.aborted) report = await send(options, 'SIGKILL', true);
  }
}

async function takeStep(
  options: EscalateOptions,
  signal: CancelSignal,
  graceMs: number,
): Promise<void> {
  if (options.ended.aborted) return;
  const mark = await options.marks.mark(signal);
  if (mark.first) options.onSignal(await send(options, signal, false));
  const ageMs = mark.first ? 0 : Math.max(0, Date.now() - mark.atMs);
  await pause(graceMs - ageMs, options.ended);
}

async function send(
  { signaller }: EscalateOptions,
  signal: CancelSignal,
  processGroup: boolean,
): Promise<SignalReport> {
  const { error } = await signaller.send(signal, processGroup);
  return error === undefined ? { signal, processGroup } : { signal, processGroup, error };
}

async function pause(ms: number, ended: AbortSignal): Promise<void> {
  if (ms <= 0 || ended.aborted) return;
  try {
    await delay(ms, undefined, { signal: ended });
  } catch {
    // Cut short: the caller looks at `ended`.
  }
}
