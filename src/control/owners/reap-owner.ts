import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import type { OwnerEntry } from '../../log/owner-store.js';
import type { RunRecord } from '../../log/run-record.js';
import type { ControlContext } from '../context.js';
import { endLostRun } from './end-lost-run.js';

const PAGE = 256;

/**
 * Ends the runs of an owner that is lost, then forgets the owner. Several gateways may do the same: the
 * chain lets one of them write each end. Stops as soon as the owner has beaten again.
 */
export async function reapOwner(context: ControlContext, lost: OwnerEntry): Promise<void> {
  const { ownerId, revision, host } = lost;
  const facts = { owner: ownerId, host };
  context.logger.warn(facts, `owner lost: no heartbeat for ${context.lostAfterMs} ms`);
  const isStillLost = async (): Promise<boolean> =>
    (await context.owners.get(ownerId))?.revision === revision;
  const why = `owner ${ownerId} on ${host} has been silent for ${context.lostAfterMs} ms`;
  const ended = await endRunsOf(context, ownerId, why, isStillLost);
  if (ended === undefined) {
    context.logger.warn(facts, 'the owner is back');
    return;
  }
  await context.owners.remove(ownerId, revision);
  context.logger.warn({ ...facts, runs: ended }, 'its runs are over');
}

/** The number of runs that this gateway ended; undefined if the owner is back. */
export async function endRunsOf(
  context: ControlContext,
  ownerId: string,
  why: string,
  isStillLost: () => Promise<boolean>,
  matches: (record: RunRecord) => boolean = () => true,
): Promise<number | undefined> {
  let ended = 0;
  let before: string | undefined;
  do {
    context.stopping.throwIfAborted();
    const page = await context.index.listNewestFirst('*', {
      ...(before === undefined ? {} : { before }),
      limit: PAGE,
      match: (record) =>
        record.run.ownerId === ownerId &&
        record.run.state !== Run_State.FINISHED &&
        matches(record),
    });
    for (const record of page.records) {
      if (!(await isStillLost())) return undefined;
      if (!matches(record)) continue;
      if (await endLostRun(context, record, why)) ended += 1;
    }
    before = page.nextToken;
  } while (before !== undefined);
  return ended;
}
