import { parseArgs } from 'node:util';
import { identifyProcess } from '../child/process-identity.js';
import { closeInheritedFds } from './inherited-fds.js';
import { serveKeeper } from './keeper-server.js';

/**
 * Entry of the keeper process. It leads its own session, so a terminal's signals do not reach it; a
 * SIGTERM is a request to end once it has no children, since nobody else can learn their exit codes.
 */
async function main(): Promise<void> {
  closeInheritedFds();
  const { values } = parseArgs({
    options: { 'data-dir': { type: 'string' }, 'idle-ms': { type: 'string' } },
  });
  const dataDir = values['data-dir'];
  const idleMs = Number(values['idle-ms']);
  const identity = identifyProcess(process.pid);
  if (dataDir === undefined || !Number.isFinite(idleMs) || identity === undefined) {
    throw new Error('the keeper is started by the bridge with --data-dir and --idle-ms');
  }
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // One run's fault must not take the others' exit codes away.
  process.on('uncaughtException', (error) => console.error('uncaught:', error));
  // The bridge that waits for the line may be gone before it is written.
  process.stdout.on('error', () => undefined);
  await serveKeeper({ dataDir, idleMs, identity }, () => process.stdout.write('ready\n'));
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
