import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BridgeClient } from '../../src/client/bridge-client.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { type ServedBridge, serveBridge } from '../support/served-bridge.js';
import { type Absences, createAbsences } from './absences.js';
import { freePort } from './free-port.js';
import { signalCommand } from './processes.js';

/** A bridge that is killed, stopped and started again, always on its address and data directory. */
export interface BridgeParty {
  readonly name: string;
  readonly address: string;
  readonly client: BridgeClient;
  readonly dataDir: string;
  readonly absences: Absences;
  /** When its keeper was killed. */
  readonly keeperKills: readonly number[];
  /** When it was stopped in order. */
  readonly gracefulStops: readonly number[];
  readonly ownerId: string;
  /** Something is being done to it. */
  readonly isBusy: boolean;
  /** Ends it with SIGKILL and starts it again; with `dieAgainMs` once more while it starts. */
  kill(restartMs: number, dieAgainMs?: number): Promise<void>;
  stopInOrder(restartMs: number): Promise<void>;
  /** SIGSTOP, SIGCONT. */
  stall(ms: number): Promise<void>;
  /** False if there is none. */
  killKeeper(): boolean;
  /** What it logged in all its lives. */
  log(): string;
  close(): Promise<void>;
}

const RETRY_MS = 300;

export async function startBridgeParty(
  name: string,
  dir: string,
  natsUrl: string,
  config: readonly string[],
): Promise<BridgeParty> {
  const dataDir = join(dir, name);
  const logFile = join(dir, `${name}.log`);
  const address = `127.0.0.1:${await freePort()}`;
  const client = connectBridge(address);
  mkdirSync(dir, { recursive: true });
  writeFileSync(logFile, '');
  const absences = createAbsences();
  const keeperKills: number[] = [];
  const gracefulStops: number[] = [];
  let isBusy = false;
  let served = await serve();

  async function serve(dieAgainMs?: number): Promise<ServedBridge> {
    let isDue = dieAgainMs !== undefined;
    for (;;) {
      try {
        return await serveBridge({
          dataDir,
          config,
          args: ['--nats-url', natsUrl, '--listen', address],
          onSpawned: (pid) => {
            if (!isDue) return;
            isDue = false;
            setTimeout(() => signalCommand(pid, [dataDir], 'SIGKILL'), dieAgainMs);
          },
        });
      } catch (thrown) {
        // Killed, or NATS is away.
        appendFileSync(logFile, `--- not started: ${String(thrown)}\n`);
        await delay(RETRY_MS);
      }
    }
  }

  async function away(act: () => Promise<void>): Promise<void> {
    isBusy = true;
    const back = absences.begin();
    try {
      await act();
    } finally {
      back();
      isBusy = false;
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    await served.kill(signal);
    appendFileSync(logFile, `${served.log()}--- ended by ${signal} at ${Date.now()}\n`);
  }

  return {
    name,
    address,
    client,
    dataDir,
    absences,
    keeperKills,
    gracefulStops,
    ownerId: readFileSync(join(dataDir, 'owner-id'), 'utf8').trim(),
    get isBusy() {
      return isBusy;
    },
    kill: (restartMs, dieAgainMs) =>
      away(async () => {
        await end('SIGKILL');
        await delay(restartMs);
        served = await serve(dieAgainMs);
      }),
    stopInOrder: (restartMs) =>
      away(async () => {
        gracefulStops.push(Date.now());
        await end('SIGTERM');
        await delay(restartMs);
        served = await serve();
      }),
    stall: (ms) =>
      away(async () => {
        served.signal('SIGSTOP');
        await delay(ms);
        served.signal('SIGCONT');
      }),
    killKeeper() {
      const pid = keeperPid(dataDir);
      if (pid === undefined || !signalCommand(pid, ['--data-dir', dataDir], 'SIGKILL'))
        return false;
      keeperKills.push(Date.now());
      return true;
    },
    log: () => readFileSync(logFile, 'utf8') + served.log(),
    async close() {
      await client.close();
      await end('SIGTERM');
    },
  };
}

function keeperPid(dataDir: string): number | undefined {
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'keeper.json'), 'utf8')) as {
      pid: number;
    };
    return pid;
  } catch {
    return undefined;
  }
}
