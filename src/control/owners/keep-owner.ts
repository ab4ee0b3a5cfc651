import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { BridgeError, toBridgeError } from '../../errors.js';
import type { OwnerBeat, OwnerEntry } from '../../log/owner-store.js';
import type { ControlContext } from '../context.js';
import { endStrayRuns } from './end-strays.js';
import { reapOwner } from './reap-owner.js';

/** After this gateway stood still, it looks at its runs with so many heartbeats. */
const VERIFY_BEATS = 4;

/** Least time that a heartbeat's request is waited for. */
const MIN_WAIT_MS = 500;

/** Time between two heartbeats of gateways that agree on `lostAfterMs`. */
export function beatMsOf(lostAfterMs: number): number {
  return Math.min(5_000, Math.max(100, Math.floor(lostAfterMs / 8)));
}

/**
 * Writes the first heartbeat, then goes on in the background until the gateway stops: beats, watches the
 * other owners, and ends the runs of those that are lost. When this gateway may have been taken for lost
 * itself (it stood still, or its heartbeat is not as it left it) it looks whether its runs are still its
 * own. Fails with `LOG_UNAVAILABLE` if the first heartbeat cannot be written.
 */
export async function keepOwner(context: ControlContext): Promise<void> {
  const { ownerId, owners, ownerWatch, lostAfterMs, logger, stopping, intake } = context;
  const beatMs = beatMsOf(lostAfterMs);
  const beat: OwnerBeat = {
    ownerId,
    instance: randomBytes(8).toString('hex'),
    host: hostname(),
    pid: process.pid,
    version: context.bridgeVersion,
  };
  let revision = 0;
  let verifyLeft = 0;
  let isVerifying = false;
  const reaping = new Set<string>();

  /** Goes on from what stands there: the heartbeat of this data directory's gateway of before. */
  async function begin(): Promise<void> {
    const entry = await owners.get(ownerId);
    if (entry !== undefined && entry.instance !== beat.instance && revision !== 0) {
      const { host, pid } = entry;
      const text = 'another bridge beats for this owner: its data directory is a copy of this one';
      logger.error(
        { owner: ownerId, host, pid },
        `${text}; give each bridge a directory of its own`,
      );
    }
    revision = (await owners.beat(beat, entry?.revision ?? 0)) ?? 0;
  }

  async function beatOnce(): Promise<void> {
    const written = await owners.beat(beat, revision);
    const nowMs = performance.now();
    const awayMs = nowMs - intake.beatenMs;
    if (written === undefined || awayMs > lostAfterMs / 2) verifyLeft = VERIFY_BEATS;
    if (written === undefined) await begin();
    else revision = written;
    intake.beatenMs = nowMs;
    if (verifyLeft === 0 || isVerifying) return;
    verifyLeft -= 1;
    void verifyOwned();
  }

  /** Beside the heartbeats, which must not wait for it. */
  async function verifyOwned(): Promise<void> {
    isVerifying = true;
    for (const { run } of [...context.owned.values()]) await run.verify();
    isVerifying = false;
  }

  async function watchOthers(): Promise<void> {
    const entries = await owners.list();
    const others = entries.filter((entry) => entry.ownerId !== ownerId);
    for (const lost of ownerWatch.observe(performance.now(), others)) void reap(lost);
  }

  /** Beside the heartbeats; one that fails is tried again with the next look. */
  async function reap(lost: OwnerEntry): Promise<void> {
    if (reaping.has(lost.ownerId)) return;
    reaping.add(lost.ownerId);
    try {
      await reapOwner(context, lost);
    } catch (thrown) {
      const { code, message } = toBridgeError(thrown);
      logger.warn({ owner: lost.ownerId, code }, `its runs are not all ended: ${message}`);
    } finally {
      reaping.delete(lost.ownerId);
    }
  }

  async function keep(): Promise<void> {
    let isTold = false;
    while (!stopping.aborted) {
      await delay(beatMs, undefined, { signal: stopping }).catch(() => undefined);
      if (stopping.aborted) return;
      try {
        await inTime(beatOnce(), beatMs);
        await inTime(watchOthers(), beatMs);
        if (performance.now() >= context.strays.dueMs) void endStrayRuns(context);
        isTold = false;
      } catch (thrown) {
        const { code, message } = toBridgeError(thrown);
        if (!isTold && !stopping.aborted) logger.warn({ code }, `no heartbeat: ${message}`);
        isTold = true;
      }
    }
  }

  await begin();
  intake.beatenMs = performance.now();
  void keep();
}

/**
 * A request that was on its way when the connection broke would be waited for longer than a heartbeat may
 * take; what it did after all the next one finds.
 */
async function inTime<T>(work: Promise<T>, beatMs: number): Promise<T> {
  const limitMs = Math.max(MIN_WAIT_MS, beatMs);
  const over = new AbortController();
  const late = delay(limitMs, undefined, { signal: over.signal }).then(
    (): never => {
      throw new BridgeError('LOG_UNAVAILABLE', `no answer in ${limitMs} ms`);
    },
    (): Promise<never> => new Promise(() => undefined),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
