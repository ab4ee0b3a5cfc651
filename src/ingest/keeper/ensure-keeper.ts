import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BridgeError } from '../../errors.js';
import { isAlive } from '../child/process-identity.js';
import { type Keeper, KeeperClient, type LinkedKeeper } from './keeper.js';
import { KeeperLink } from './link.js';
import { keeperProtocol } from './protocol.js';
import { startKeeper } from './start-keeper.js';
import { type KeeperState, keeperStateFile, readKeeperState } from './state-file.js';

export interface EnsureKeeperOptions {
  /** Exists; this process holds its lock, so nobody else starts a keeper for it at the same time. */
  readonly dataDir: string;
  /** How long a keeper that is started stays without children and bridge. Default 10 000. */
  readonly idleMs?: number;
  /** How long a keeper may take to start, or a living one to answer. Default 10 000. */
  readonly timeoutMs?: number;
}

/**
 * Connects to the living keeper of a data directory, or starts one. The caller closes what it gets;
 * the keeper lives on. Throws `KEEPER_UNREACHABLE` if a keeper lives and does not answer, speaks
 * another version, or none can be started.
 */
export async function ensureKeeper(options: EnsureKeeperOptions): Promise<Keeper> {
  const dataDir = resolve(options.dataDir);
  const idleMs = options.idleMs ?? 10_000;
  const timeoutMs = options.timeoutMs ?? 10_000;
  const open = async (): Promise<LinkedKeeper> => await linkKeeper(dataDir, idleMs, timeoutMs);
  return new KeeperClient(open, await open());
}

async function linkKeeper(
  dataDir: string,
  idleMs: number,
  timeoutMs: number,
): Promise<LinkedKeeper> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const state = readKeeperState(dataDir);
    if (state === undefined || !isAlive(state)) {
      await startKeeper(dataDir, idleMs, timeoutMs);
      continue;
    }
    const link = await tryLink(state, Math.max(1, deadline - performance.now()));
    if (link !== undefined) return { link, state };
    if (performance.now() > deadline) {
      throw new BridgeError(
        'KEEPER_UNREACHABLE',
        `keeper with pid ${state.pid} lives but does not answer on ${state.socketPath}; ` +
          `end it if it is stuck, or remove ${keeperStateFile(dataDir)} if it is not a keeper`,
      );
    }
    // It may be ending just now: then it is gone in a moment.
    await delay(20);
  }
}

async function tryLink(state: KeeperState, timeoutMs: number): Promise<KeeperLink | undefined> {
  let link: KeeperLink | undefined;
  let protocol: unknown;
  try {
    link = await KeeperLink.open(state.socketPath);
    protocol = (await link.ask('hello', {}, timeoutMs)).protocol;
  } catch {
    link?.close();
    return undefined;
  }
  if (protocol === keeperProtocol) return link;
  link.close();
  throw new BridgeError(
    'KEEPER_UNREACHABLE',
    `keeper with pid ${state.pid} speaks version ${String(protocol)}, not ${keeperProtocol}; ` +
      'start the bridge once its agents have ended',
  );
}
