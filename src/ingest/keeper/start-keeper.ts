import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../errors.js';
import { keeperEntry } from './entry.js';

/**
 * Starts a keeper that outlives this process, and resolves once it listens. Its complaints go to
 * `keeper.log` in the data directory. Throws `KEEPER_UNREACHABLE` if it ends before it listens or
 * takes longer than `timeoutMs`.
 */
export async function startKeeper(
  dataDir: string,
  idleMs: number,
  timeoutMs: number,
): Promise<void> {
  const entry = keeperEntry();
  const logPath = join(dataDir, 'keeper.log');
  const log = openLog(logPath);
  const args = [entry, '--data-dir', dataDir, '--idle-ms', String(idleMs)];
  // Nothing of the bridge's environment: NODE_OPTIONS and secrets are not the keeper's.
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
  const keeper = spawn(process.execPath, args, {
    cwd: '/',
    env,
    detached: true,
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (what: string): void => {
        const message = `keeper for ${dataDir} ${what}; see ${logPath}`;
        reject(new BridgeError('KEEPER_UNREACHABLE', message));
      };
      const timer = setTimeout(() => fail(`did not listen in ${timeoutMs} ms`), timeoutMs);
      const settle = (act: () => void) => (): void => {
        clearTimeout(timer);
        act();
      };
      keeper.stdout?.once('data', settle(resolve));
      keeper.once(
        'error',
        settle(() => fail('was not started')),
      );
      keeper.once(
        'exit',
        settle(() => fail('ended before it listened')),
      );
    });
  } finally {
    keeper.stdout?.destroy();
    keeper.unref();
  }
}

function openLog(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    const message = `no keeper can be started: ${path} cannot be written`;
    throw new BridgeError('KEEPER_UNREACHABLE', message, { cause });
  }
}
