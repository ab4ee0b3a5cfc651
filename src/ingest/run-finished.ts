import { create } from '@bufbuild/protobuf';
import {
  type CancelCause,
  type RunFinished,
  RunFinishedSchema,
} from '#gen/hep/event/v1/event_pb.js';
import type { LineEvents } from './line-events.js';
import { decideOutcome, type Exit } from './outcome.js';

/** The cancel that a run's end answers. */
export interface AskedCancel {
  readonly cause: CancelCause;
  readonly actor: string;
  readonly reason: string;
}

/** How the source of a run ended, beside what its lines say. */
export interface RunEnd {
  readonly exit: Exit;
  /** The first that was asked for; undefined = none was. */
  readonly cancel?: AskedCancel | undefined;
  /** The owner sent a signal for a cancel. */
  readonly cancelSignalled: boolean;
  /** Processes of the agent's group that were still there after its end and were killed. */
  readonly leftoverProcesses?: number;
  /** Processes that left the group and live on: reported, not killed. */
  readonly escapedProcesses?: number;
  /** Written by another than the owner that saw the process end. */
  readonly synthetic?: boolean;
  /** Bytes that came into stdout after the process had ended; they are not published. */
  readonly lateBytes?: number;
}

const DETAIL_CHARACTERS = 1_024;

/** The last event of a run. */
export function runFinished(end: RunEnd, lines: LineEvents, stderrTail: Uint8Array): RunFinished {
  const { facts, refusal } = lines;
  const verdict = decideOutcome({
    exit: end.exit,
    refusal,
    strictBreach: lines.strictBreach,
    cancelSignalled: end.cancelSignalled,
    truncated: lines.truncated,
    lastTerminal: facts.lastTerminal?.kind,
  });
  const notes = [verdict.detail];
  if (end.cancel !== undefined) notes.push(describeCancel(end.cancel));
  if (end.escapedProcesses) notes.push(`${end.escapedProcesses} processes left its group, live on`);
  if (end.lateBytes) notes.push(`${end.lateBytes} bytes came after its end, not published`);
  const message = create(RunFinishedSchema, {
    outcome: verdict.outcome,
    reason: verdict.reason,
    detail: notes.join('; ').slice(0, DETAIL_CHARACTERS).toWellFormed(),
    signal: end.exit.kind === 'signal' ? end.exit.signal : '',
    lastTerminalSequence: BigInt(facts.lastTerminal?.sequence ?? 0),
    answerSequence: BigInt(facts.answerSequence),
    stdoutBytes: BigInt(lines.offset),
    unterminatedTail: lines.unterminatedTail,
    stderrTail,
    refusedLine: refusal?.line ?? new Uint8Array(0),
    synthetic: end.synthetic ?? false,
    leftoverProcesses: end.leftoverProcesses ?? 0,
    ...(end.cancel === undefined ? {} : { cancelCause: end.cancel.cause }),
  });
  if (end.exit.kind === 'code') message.exitCode = end.exit.code;
  if (facts.answer !== undefined) message.answer = facts.answer;
  if (facts.usage !== undefined) message.usage = facts.usage;
  return message;
}

function describeCancel({ actor, reason }: AskedCancel): string {
  const by = actor === '' ? 'its end was asked for' : `its end was asked for by ${actor}`;
  return reason === '' ? by : `${by}: ${reason}`;
}
