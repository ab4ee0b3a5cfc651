import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import type { RunEvent } from '../../src/client/bridge-client.js';
import { rebuildSource } from '../support/gateway.js';
import { checkClient } from './check-client.js';
import { type Circumstances, circumstancesOf } from './circumstances.js';
import { outcomeText } from './expected-outcome.js';
import { judgeEnd } from './judge.js';
import { type LoggedFacts, loggedFacts } from './logged-facts.js';
import type { RunProcess } from './processes.js';
import type { LoggedRun } from './read-log.js';
import type { RunFacts } from './run-facts.js';
import type { World } from './world.js';

/** What each bridge says of a run; a text if it fails. */
export type Answer = Run | string;

export interface SeenRun {
  readonly logged: LoggedRun;
  /** Through a subscription, or why not. */
  readonly subscribed: readonly RunEvent[] | string;
  readonly answers: readonly Answer[];
  /** Processes that carry its id and live. */
  readonly processes: readonly RunProcess[];
}

export interface CheckedRun {
  readonly outcome: string;
  readonly around: Circumstances;
  /** Empty = all is as it must be. */
  readonly wrong: readonly string[];
}

/** Holds a run against all that was promised of it. */
export function checkRun(world: World, facts: RunFacts, seen: SeenRun): CheckedRun {
  const { events } = seen.logged;
  const logged = loggedFacts(events);
  const { finished, finishedMs } = logged;
  const around = circumstancesOf(
    world,
    facts,
    seen.logged,
    finished === undefined ? Date.now() : finishedMs,
  );
  const wrong = [
    ...checkChain(events, seen.subscribed),
    ...checkCancels(facts, logged),
    ...checkAgent(facts, around),
    ...checkClient(around, logged, events.length),
    // What a killed client leaves behind is no bridge's to clear.
    ...(facts.isClientKilled ? [] : checkProcesses(around, seen.processes)),
  ];
  if (finished === undefined) {
    return { outcome: 'no end', around, wrong: [...wrong, 'the last event is no RunFinished'] };
  }
  wrong.push(
    ...judgeEnd(finished, logged, facts, around),
    ...checkBytes(facts, events, logged, around),
    ...seen.answers.flatMap((answer) => checkAnswer(answer, logged, events.length)),
  );
  return { outcome: outcomeText(finished.outcome, finished.reason), around, wrong };
}

function checkChain(events: readonly RunEvent[], subscribed: SeenRun['subscribed']): string[] {
  const wrong: string[] = [];
  const sequences = events.map(({ sequence }) => sequence);
  if (sequences.some((sequence, at) => sequence !== at + 1)) wrong.push(`sequences ${sequences}`);
  const ends = events.filter(({ event }) => event.payload.case === 'runFinished').length;
  if (ends !== 1) wrong.push(`${ends} RunFinished`);
  const starts = events.filter(({ event }) => event.payload.case === 'runStarted').length;
  if (starts !== 1 || events[0]?.event.payload.case !== 'runStarted')
    wrong.push(`${starts} RunStarted`);
  if (typeof subscribed === 'string') wrong.push(`subscribe: ${subscribed}`);
  else if (subscribed.map(({ sequence }) => sequence).join() !== sequences.join()) {
    wrong.push(`a subscription gives ${subscribed.map(({ sequence }) => sequence)}`);
  }
  return wrong;
}

/** What was answered is in the log, and each request once. */
function checkCancels({ cancels }: RunFacts, logged: LoggedFacts): string[] {
  const wrong: string[] = [];
  for (const [requestId, sequences] of logged.cancels) {
    if (sequences.length > 1) wrong.push(`cancel ${requestId} stands at ${sequences}`);
  }
  for (const { requestId, sequence } of cancels) {
    if (sequence === undefined || sequence === 0) continue;
    if (logged.cancels.get(requestId)?.[0] === sequence) continue;
    wrong.push(
      `cancel ${requestId} was answered with ${sequence}, the log has ${logged.cancels.get(requestId)}`,
    );
  }
  return wrong;
}

function checkAgent({ plan }: RunFacts, { agent }: Circumstances): string[] {
  const wrong: string[] = [];
  if (agent.births.length > 1) wrong.push(`the agent was started ${agent.births.length} times`);
  const interrupts = agent.signals.filter((signal) => signal === 'SIGINT').length;
  if (interrupts > 1) wrong.push(`${interrupts} SIGINT reached the agent`);
  if (agent.broken !== undefined && plan.path === 'start')
    wrong.push(`stdout broke: ${agent.broken}`);
  return wrong;
}

/** Those that left the group on purpose are in another one. */
function checkProcesses({ agent }: Circumstances, processes: readonly RunProcess[]): string[] {
  const group = agent.births[0];
  return processes
    .filter(({ processGroup }) => processGroup === group || group === undefined)
    .map(({ pid, command }) => `process ${pid} of its group lives: ${command}`);
}

function checkBytes(
  { plan }: RunFacts,
  events: readonly RunEvent[],
  { finished }: LoggedFacts,
  { agent }: Circumstances,
): string[] {
  if (finished === undefined) return [];
  const stored = rebuildSource(events);
  const wrong: string[] = [];
  if (!agent.stdout.subarray(0, stored.length).equals(stored)) {
    wrong.push(`stored is not what was written: ${JSON.stringify(stored.toString().slice(-300))}`);
  }
  // A spool is whole also where nobody saw the exit.
  const isSeen = finished.exitCode !== undefined || finished.signal !== '';
  const isWhole = isSeen || (plan.path === 'start' && !finished.synthetic);
  if (isWhole && stored.length < agent.wroteBytes) {
    wrong.push(`${stored.length} bytes are stored of ${agent.wroteBytes} that were written`);
  }
  if (Number(finished.stdoutBytes) !== stored.length) {
    wrong.push(`stdout_bytes ${finished.stdoutBytes}, stored ${stored.length}`);
  }
  return wrong;
}

function checkAnswer(answer: Answer, { finished }: LoggedFacts, lastSequence: number): string[] {
  if (typeof answer === 'string') return [`GetRun: ${answer}`];
  if (finished === undefined) return [];
  const said = {
    outcome: outcomeText(answer.outcome, answer.outcomeReason),
    detail: answer.detail,
    synthetic: answer.synthetic,
    lastSequence: Number(answer.lastSequence),
  };
  const truth = {
    outcome: outcomeText(finished.outcome, finished.reason),
    detail: finished.detail,
    synthetic: finished.synthetic,
    lastSequence,
  };
  const [a, b] = [JSON.stringify(said), JSON.stringify(truth)];
  return a === b ? [] : [`GetRun says ${a}, the log ${b}`];
}
