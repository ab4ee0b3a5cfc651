import { setTimeout as delay } from 'node:timers/promises';
import { v4 as uuidv4 } from 'uuid';
import { toBridgeError } from '../../src/errors.js';
import { readAgentJournal } from './agent-journal.js';
import type { RunDeed } from './plan.js';
import type { Stage } from './play-run.js';
import { signalOfRun } from './processes.js';
import type { RunFacts } from './run-facts.js';

const BORN_WITHIN_MS = 2_000;
const CANCEL_TIMEOUT_MS = 6_000;

/** False if there was nobody any more, or not yet, to do it to. */
export async function doRunDeed(stage: Stage, facts: RunFacts, deed: RunDeed): Promise<boolean> {
  const { runId } = facts;
  switch (deed.kind) {
    case 'kill agent': {
      const pid = await agentPid(facts);
      const isKilled = pid !== undefined && signalOfRun(runId, pid, 'SIGKILL');
      facts.isAgentKilled ||= isKilled;
      return isKilled;
    }
    case 'kill grandchild': {
      const [pid] = readAgentJournal(facts.agentJournal).children;
      return pid !== undefined && signalOfRun(runId, pid, 'SIGKILL');
    }
    case 'kill client': {
      const { client } = facts;
      const isKilled = client?.kill('SIGKILL') === true;
      facts.isClientKilled ||= isKilled;
      return isKilled;
    }
    case 'stop agent': {
      const pid = await agentPid(facts);
      if (pid === undefined || !signalOfRun(runId, pid, 'SIGSTOP')) return false;
      await delay(300 + (deed.atMs % 900));
      signalOfRun(runId, pid, 'SIGCONT');
      return true;
    }
    case 'cancel':
      await cancel(stage, facts, deed.bridge, uuidv4());
      return true;
    case 'cancel with force':
      await cancel(stage, facts, deed.bridge, uuidv4(), true);
      return true;
    case 'cancel twice': {
      const requestId = uuidv4();
      // By one id at both bridges, or as two wishes.
      const again = deed.atMs % 2 === 0 ? requestId : uuidv4();
      const first = cancel(stage, facts, deed.bridge, requestId);
      await delay(deed.atMs % 150);
      await Promise.all([first, cancel(stage, facts, deed.bridge + 1, again)]);
      return true;
    }
  }
}

async function cancel(
  { world, refusals }: Stage,
  facts: RunFacts,
  bridgeIndex: number,
  requestId: string,
  force = false,
): Promise<void> {
  const bridge = world.bridges[bridgeIndex % world.bridges.length];
  const asked = { requestId, askedMs: Date.now(), sequence: undefined as number | undefined };
  facts.cancels.push(asked);
  try {
    const answer = await bridge?.client.cancelRun(
      { runId: facts.runId, requestId, force, reason: 'the kill test' },
      { timeoutMs: CANCEL_TIMEOUT_MS },
    );
    asked.sequence = Number(answer?.requestedSequence ?? 0n);
  } catch (thrown) {
    refusals.add(`cancel ${toBridgeError(thrown).code}`);
  }
}

/** The agent's pid, as soon as it says that it is there. */
async function agentPid({ agentJournal }: RunFacts): Promise<number | undefined> {
  const untilMs = Date.now() + BORN_WITHIN_MS;
  for (;;) {
    const [pid] = readAgentJournal(agentJournal).births;
    if (pid !== undefined || Date.now() > untilMs) return pid;
    await delay(30);
  }
}
