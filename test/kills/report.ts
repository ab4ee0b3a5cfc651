import { type CheckedRun, checkRun, type SeenRun } from './check-run.js';
import type { Stage } from './play-run.js';
import type { RunFacts } from './run-facts.js';
import { createTally } from './tally.js';

export interface Report {
  /** Runs that the log holds. */
  readonly runs: number;
  /** What was done, by kind. */
  readonly deeds: ReadonlyMap<string, number>;
  /** One a text, with all that helps to understand it. */
  readonly violations: readonly string[];
  /** For people. */
  readonly text: string;
}

export function judgeRuns(
  stage: Stage,
  all: readonly RunFacts[],
  seen: ReadonlyMap<string, SeenRun>,
  { seed, startedMs }: { readonly seed: number; readonly startedMs: number },
): Report {
  const { world, deeds, refusals } = stage;
  const outcomes = createTally();
  const paths = createTally();
  const notices = createTally();
  const violations: string[] = [];
  let runs = 0;
  for (const facts of all) {
    const run = seen.get(facts.runId);
    if (run === undefined) continue;
    if (run.logged.events.length === 0) {
      notices.add('never began');
      const wrong = checkUnborn(facts, run);
      if (wrong.length > 0) violations.push(describe(seed, facts, run, wrong, stage));
      continue;
    }
    runs += 1;
    paths.add(`by ${facts.plan.path}`);
    const checked: CheckedRun = checkRun(world, facts, run);
    outcomes.add(checked.outcome);
    if (run.logged.writers.length > 1) notices.add('written by both bridges');
    if (checked.around.hasClientGivenUp) notices.add('given up by the client');
    if (checked.wrong.length > 0) {
      violations.push(describe(seed, facts, run, checked.wrong, stage, checked));
    }
  }
  for (const refusal of refusals.counts.keys()) {
    if (refusal.endsWith('INTERNAL'))
      violations.push(`* (seed ${seed}): a call failed: ${refusal}`);
  }
  for (const { log } of world.bridges) {
    const fenced = log().match(/"code":"FENCED"[^\n]*run lost/g) ?? [];
    for (const _ of fenced) notices.add('fenced');
  }
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  const text = [
    `kills: seed ${seed}, ${runs} runs (${paths.text()}) in ${seconds} s`,
    `done: ${deeds.text()}`,
    `outcomes: ${outcomes.text()}`,
    `runs: ${notices.text()}`,
    `refused calls: ${refusals.text()}`,
    `violations: ${violations.length}`,
    ...violations,
  ].join('\n');
  return { runs, deeds: deeds.counts, violations, text };
}

/** A run of which the log has nothing is one that nobody was told of, and that no bridge knows. */
function checkUnborn({ isAcknowledged }: RunFacts, { answers, processes }: SeenRun): string[] {
  const wrong: string[] = [];
  if (isAcknowledged) wrong.push('StartRun was answered, but the log holds nothing');
  for (const answer of answers) {
    if (answer !== 'RUN_NOT_FOUND') {
      wrong.push(`GetRun says ${typeof answer === 'string' ? answer : `state ${answer.state}`}`);
    }
  }
  for (const { pid, command } of processes) wrong.push(`process ${pid} lives: ${command}`);
  return wrong;
}

function describe(
  seed: number,
  facts: RunFacts,
  { logged }: SeenRun,
  wrong: readonly string[],
  { world }: Stage,
  checked?: CheckedRun,
): string {
  const { runId, plan, startedMs } = facts;
  const { pauses, ...rest } = plan;
  const events = logged.events.map(
    ({ sequence, timeUs, event: { payload } }) =>
      `${sequence}@${Math.round(timeUs / 1_000 - startedMs)} ${payload.case}`,
  );
  const shown = events.length > 16 ? [...events.slice(0, 4), '…', ...events.slice(-11)] : events;
  const end = logged.events.at(-1)?.event.payload;
  const ended = end?.case === 'runFinished' ? end.value : undefined;
  const around = checked && { ...checked.around, agent: { ...checked.around.agent, stdout: '…' } };
  const logs = world.bridges.flatMap((bridge) =>
    bridge
      .log()
      .split('\n')
      .filter((line) => line.includes(runId) || line.startsWith('---'))
      .map((line) => `    ${bridge.name}: ${line}`),
  );
  return [
    `* run ${runId} (seed ${seed}): ${wrong.join(' | ')}`,
    `    plan ${JSON.stringify({ ...rest, deltas: pauses.length })}`,
    `    started at ${startedMs}; written by ${logged.writers.join(', ')}`,
    `    agent killed ${facts.isAgentKilled}, client killed ${facts.isClientKilled}, cancels ${JSON.stringify(facts.cancels)}`,
    `    end: exit ${ended?.exitCode} signal '${ended?.signal}' detail '${ended?.detail}'`,
    `    events ${shown.join(', ')}`,
    `    around ${JSON.stringify(around)}`,
    ...logs.filter((line) => line.includes(runId)),
  ].join('\n');
}
