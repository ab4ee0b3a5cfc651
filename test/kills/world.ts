import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BridgeParty, startBridgeParty } from './bridge-party.js';
import { type NatsParty, startNatsParty } from './nats-party.js';

/** Two bridges on one nats-server, each a process, in a temporary directory. */
export interface World extends AsyncDisposable {
  readonly dir: string;
  /** Of the journals. */
  readonly journalDir: string;
  readonly nats: NatsParty;
  readonly bridges: readonly BridgeParty[];
  /** Leave the directory when all is over: something is to be looked into. */
  keep(): void;
}

/** An owner that is silent for so long has lost its runs. */
export const LOST_AFTER_MS = 3_000;
/** A client that is away for so long has lost its run. */
export const RECONNECT_WINDOW_MS = 3_000;

const CONFIG = [
  `lost_after: ${LOST_AFTER_MS}ms`,
  `reconnect_window: ${RECONNECT_WINDOW_MS}ms`,
  'interrupt_grace: 500ms',
  'terminate_grace: 500ms',
];

export async function createWorld(): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), 'hep-kills-'));
  const journalDir = join(dir, 'journals');
  mkdirSync(journalDir);
  const nats = await startNatsParty();
  const bridges = await Promise.all(
    ['a', 'b'].map((name) => startBridgeParty(name, dir, nats.url, CONFIG)),
  );
  let isKept = false;
  return {
    dir,
    journalDir,
    nats,
    bridges,
    keep() {
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(bridges.map((bridge) => bridge.close()));
      await nats.close();
      if (!isKept) rmSync(dir, { recursive: true, force: true });
    },
  };
}
