import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { toBridgeError } from '../../errors.js';
import { adoptChild, startChild } from '../../ingest/child/child-source.js';
import { spoolDir } from '../../ingest/spool/layout.js';
import type { ControlContext } from '../context.js';
import type { ChildRun } from '../own/child-run.js';
import { updateRecord } from '../record.js';
import { readEnvFiles } from './env-files.js';
import type { AgentSpawn } from './spool-request.js';

/** Spawns the agent of a run that is in the log, or finds the one that was spawned before. */
export async function spawnAgent(
  context: ControlContext,
  { owned, attach }: ChildRun,
  { envFiles, ...spawn }: AgentSpawn,
): Promise<void> {
  const { runId } = owned.record.run;
  const fail = (why: string): void => {
    const message = `cannot start the agent: ${why}`;
    owned.finish({ exit: { kind: 'spawn-failed', message } });
  };
  let env = spawn.env;
  try {
    env = { ...env, ...(await readEnvFiles(owned.record.run.profile, envFiles)) };
  } catch (thrown) {
    fail(toBridgeError(thrown).message);
    return;
  }
  const dir = spoolDir(context.dataDir, runId);
  let child: Awaited<ReturnType<typeof startChild>>;
  try {
    child = await startChild({ ...spawn, env, runId, keeper: context.keeper, dir });
  } catch (thrown) {
    // A gateway that stops leaves the run to the next one.
    if (context.stopping.aborted) throw thrown;
    const { code, message } = toBridgeError(thrown);
    child = adoptChild(context.keeper, runId, dir) ?? { error: code, message };
  }
  if ('error' in child) {
    fail(`${child.message} (${child.error})`);
    return;
  }
  owned.record.run.state = Run_State.RUNNING;
  attach(child);
  await updateRecord(context, owned.record);
}
