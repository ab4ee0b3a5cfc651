import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { BridgeError } from '../errors.js';
import {
  currentBootId,
  decodeIdentity,
  identifyProcess,
  isAlive,
  type ProcessIdentity,
} from '../ingest/child/process-identity.js';
import { readJsonFile, writeWholeFile } from '../ingest/spool/whole-file.js';

export interface DataDirLock extends AsyncDisposable {
  /** Lets go; safe twice. */
  release(): Promise<void>;
}

/**
 * Makes the data directory (mode 0700) and holds it for this process alone. On Linux the lock is an
 * abstract Unix socket named after the directory's device and inode: the kernel gives it to one
 * process of a network namespace and takes it back when that dies. Everywhere the identity in the pid
 * file counts as well. Throws `DATA_DIR_IN_USE`, or `DATA_DIR_INVALID` if it cannot be made or
 * written.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const socket = await lockSocket(dataDir);
  const pidFile = join(dataDir, 'bridge.json');
  try {
    // Another network namespace, say a container on the same volume, has sockets of its own.
    const holder = readHolder(pidFile);
    if (holder !== undefined && isAlive(holder)) throw inUse(dataDir, holder);
    if (socket === undefined) takeExclusively(dataDir, pidFile);
    else writeHolder(pidFile);
  } catch (thrown) {
    await closeServer(socket);
    throw thrown instanceof BridgeError ? thrown : invalid(dataDir, thrown);
  }
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => {
    if (released === undefined) {
      rmSync(pidFile, { force: true });
      released = closeServer(socket);
    }
    return released;
  };
  return { release, [Symbol.asyncDispose]: release };
}

/** Undefined where there are no abstract sockets. */
async function lockSocket(dataDir: string): Promise<Server | undefined> {
  let name: string;
  try {
    makeDir(resolve(dataDir));
    const { dev, ino } = statSync(realpathSync(dataDir));
    name = `\0hep-bridge/${currentBootId()}/${dev}/${ino}`;
  } catch (thrown) {
    throw invalid(dataDir, thrown);
  }
  if (process.platform !== 'linux') return undefined;
  return await new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const holder = readHolder(join(dataDir, 'bridge.json'));
      reject(error.code === 'EADDRINUSE' ? inUse(dataDir, holder) : invalid(dataDir, error));
    });
    server.listen(name, () => resolve(server));
  });
}

/** Of two that find a dead holder at the same time, one makes the file and the other fails. */
function takeExclusively(dataDir: string, pidFile: string): void {
  rmSync(pidFile, { force: true });
  try {
    closeSync(openSync(pidFile, 'wx', 0o600));
  } catch (thrown) {
    throw (thrown as NodeJS.ErrnoException).code === 'EEXIST'
      ? inUse(dataDir, readHolder(pidFile))
      : thrown;
  }
  writeHolder(pidFile);
}

function readHolder(pidFile: string): ProcessIdentity | undefined {
  return decodeIdentity(readJsonFile(pidFile));
}

function writeHolder(pidFile: string): void {
  writeWholeFile(pidFile, `${JSON.stringify(identifyProcess(process.pid))}\n`, 'process');
}

function closeServer(server: Server | undefined): Promise<void> {
  if (server === undefined) return Promise.resolve();
  return new Promise((resolve) => server.close(() => resolve()));
}

function inUse(dataDir: string, holder: ProcessIdentity | undefined): BridgeError {
  const who = holder === undefined ? '' : ` (pid ${holder.pid})`;
  return new BridgeError(
    'DATA_DIR_IN_USE',
    `data directory ${dataDir} is in use by another bridge${who}; stop it, or give this one its own ` +
      '--data-dir',
  );
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

/** Like a recursive `mkdir`, which in Node never returns for a path below /proc. */
function makeDir(path: string): void {
  if (existsSync(path)) return;
  makeDir(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    // Another bridge that starts at the same time made it.
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
}
