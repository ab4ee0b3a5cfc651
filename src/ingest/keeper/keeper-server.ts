import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { ProcessIdentity } from '../child/process-identity.js';
import { KeptChildren } from './children.js';
import { readLines, writeLine } from './json-lines.js';
import { decodeRequest, type KeeperRequest, keeperProtocol } from './protocol.js';
import { chooseSocketPath } from './socket-path.js';
import { keeperStateFile, readKeeperState, writeKeeperState } from './state-file.js';

export interface KeeperServerOptions {
  readonly dataDir: string;
  /** How long it stays without a child and without a bridge. */
  readonly idleMs: number;
  readonly identity: ProcessIdentity;
}

/** The bridge that started it may be slow to connect, however short `idleMs` is. */
const firstBridgeMs = 5_000;

/**
 * Listens for bridges and answers them, until it has neither children nor a bridge for `idleMs`
 * (at once after `stop` or SIGTERM, unless a bridge has connected since). Resolves then, with the state file
 * and the socket removed.
 */
export async function serveKeeper(
  { dataDir, idleMs, identity }: KeeperServerOptions,
  onListening: () => void,
): Promise<void> {
  const bridges = new Set<Socket>();
  let stopping = false;
  let expected = true;
  let idleTimer: NodeJS.Timeout | undefined;
  const end = new AbortController();

  const considerEnd = (): void => {
    clearTimeout(idleTimer);
    if (children.count > 0 || bridges.size > 0) return;
    const patienceMs = expected ? Math.max(idleMs, firstBridgeMs) : idleMs;
    if (stopping) end.abort();
    else idleTimer = setTimeout(() => end.abort(), patienceMs);
  };
  const children = new KeptChildren(identity, considerEnd);

  const answer = async (request: KeeperRequest): Promise<object> => {
    switch (request.verb) {
      case 'hello':
        return { protocol: keeperProtocol, pid: identity.pid, children: children.count };
      case 'spawn':
        return await children.spawn(request);
      case 'signal':
        return children.signal(request);
      case 'stop':
        stopping = true;
        return { children: children.count };
    }
  };
  const serve = (socket: Socket): void => {
    bridges.add(socket);
    clearTimeout(idleTimer);
    stopping = false;
    expected = false;
    readLines(socket, (line) => {
      const request = decodeRequest(line);
      if (request === undefined) {
        console.error(`not a request: ${line.slice(0, 200)}`);
        socket.destroy();
        return;
      }
      void answer(request).then(
        (result) => writeLine(socket, { id: request.id, ...result }),
        (error: unknown) => {
          console.error(`${request.verb}:`, error);
          writeLine(socket, { id: request.id, error: 'INTERNAL', message: String(error) });
        },
      );
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      bridges.delete(socket);
      considerEnd();
    });
  };

  const place = chooseSocketPath(dataDir);
  const server = await listen(place.path, serve);
  server.on('error', (error) => console.error('socket:', error));
  process.on('SIGTERM', () => {
    stopping = true;
    considerEnd();
  });
  writeKeeperState(dataDir, { ...identity, socketPath: place.path });
  onListening();
  considerEnd();
  if (!end.signal.aborted) await once(end.signal, 'abort');

  if (readKeeperState(dataDir)?.pid === identity.pid) {
    rmSync(keeperStateFile(dataDir), { force: true });
  }
  server.close();
  for (const socket of bridges) socket.destroy();
  rmSync(place.madeDir ?? place.path, { recursive: true, force: true });
}

/** The data directory is locked by the bridge that starts us: a socket that is there is stale. */
async function listen(path: string, serve: (socket: Socket) => void): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer(serve);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
    // Bound in the call above; nobody else may connect, whatever the umask.
    chmodSync(path, 0o600);
  });
  server.removeAllListeners('error');
  return server;
}
