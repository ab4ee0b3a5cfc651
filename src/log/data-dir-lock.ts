import { mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { BridgeError } from '../errors.js';
import {
  currentBootId,
  decodeIdentity,
  identifyProcess,
  isAlive,
} from '../ingest/child/process-identity.js';
import { readJsonFile, writeWholeFile } from '../ingest/spool/whole-file.js';

export interface DataDirLock extends AsyncDisposable {
  /** Lets go; safe twice. */
  release(): Promise<void>;
}

/**
 * Makes the data directory (mode 0700) and holds it for this process alone. On Linux the lock is an
 * abstract Unix socket named after the directory's device and inode: the kernel gives it to one
 * process of a network namespace and takes it back when that dies. Elsewhere it is the identity in
 * the pid file. Throws `DATA_DIR_IN_USE`, or `DATA_DIR_INVALID` if it cannot be made or written.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const pidFile = join(dataDir, 'bridge.json');
  let path: string;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    path = realpathSync(dataDir);
    statSync(path);
  } catch (thrown) {
    throw invalid(dataDir, thrown);
  }
  const holder = decodeIdentity(readJsonFile(pidFile));
  const inUse = (): BridgeError =>
    new BridgeError(
      'DATA_DIR_IN_USE',
      `data directory ${dataDir} is in use by another bridge` +
        `${holder === undefined ? '' : ` (pid ${holder.pid})`}; stop it, or give this one its own --data-dir`,
    );
  let socket: Server | undefined;
  if (process.platform === 'linux') {
    const { dev, ino } = statSync(path);
    socket = await listenAbstract(`\0hep-bridge/${currentBootId()}/${dev}/${ino}`, inUse);
  } else if (holder !== undefined && holder.pid !== process.pid && isAlive(holder)) {
    throw inUse();
  }
  try {
    writeWholeFile(pidFile, `${JSON.stringify(identifyProcess(process.pid))}\n`, 'process');
  } catch (thrown) {
    await closeServer(socket);
    throw invalid(dataDir, thrown);
  }
  const release = async (): Promise<void> => {
    await closeServer(socket);
    socket = undefined;
  };
  return { release, [Symbol.asyncDispose]: release };
}

function listenAbstract(name: string, inUse: () => BridgeError): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? inUse() : error);
    });
    server.listen(name, () => resolve(server));
  });
}

function closeServer(server: Server | undefined): Promise<void> {
  if (server === undefined) return Promise.resolve();
  return new Promise((resolve) => server.close(() => resolve()));
}

function invalid(dataDir: string, thrown: unknown): BridgeError {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new BridgeError(
    'DATA_DIR_INVALID',
    `data directory ${dataDir} cannot be used: ${text}; name another with --data-dir`,
    { cause: thrown },
  );
}

/**
 * A stable name for the gateways of a data directory, made at its first use. The caller holds the
 * lock.
 */
export function ownerIdOf(dataDir: string, mint: () => string): string {
  const file = join(dataDir, 'owner-id');
  try {
    const id = readFileSync(file, 'utf8').trim();
    if (id !== '') return id;
  } catch {
    // The first bridge on this directory.
  }
  const id = mint();
  writeFileSync(file, `${id}\n`, { mode: 0o600 });
  return id;
}
