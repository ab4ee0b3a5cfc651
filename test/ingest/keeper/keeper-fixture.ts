import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildSource, startChild } from '../../../src/ingest/child/child-source.js';
import { identifyProcess, isAlive } from '../../../src/ingest/child/process-identity.js';
import { ensureKeeper } from '../../../src/ingest/keeper/ensure-keeper.js';
import type { Keeper } from '../../../src/ingest/keeper/keeper.js';
import type { ChildStdin, SpawnFailure } from '../../../src/ingest/keeper/protocol.js';
import type { ExitFacts, KnownExit } from '../../../src/ingest/spool/exit-file.js';
import type { SpoolEnd, SpoolItem } from '../../../src/ingest/spool/follow.js';
import { createSpool } from '../../../src/ingest/spool/run-spool.js';

/** A data directory with a keeper of its own. Disposing ends both. */
export interface KeeperFixture extends AsyncDisposable {
  readonly dataDir: string;
  readonly keeper: Keeper;
  /** Makes a spool for the next run and starts its child. */
  start(argv: readonly string[], options?: StartOptions): Promise<ChildSource>;
  tryStart(argv: readonly string[], options?: StartOptions): Promise<ChildSource | SpawnFailure>;
}

interface StartOptions {
  readonly runId?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: ChildStdin;
}

/** A new temporary directory; the caller removes it. */
export function makeDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'hep-keeper-test-'));
}

export async function openKeeper(): Promise<KeeperFixture> {
  const dataDir = makeDataDir();
  const keeper = await ensureKeeper({ dataDir, idleMs: 200 });
  const dirs = new Map<string, string>();
  let made = 0;
  const tryStart: KeeperFixture['tryStart'] = async (argv, options = {}) => {
    made += 1;
    const runId = options.runId ?? `run-${made}`;
    const dir = dirs.get(runId) ?? createSpool({ dataDir, runId, request: {} });
    dirs.set(runId, dir);
    return await startChild({
      keeper,
      dir,
      runId,
      argv,
      cwd: options.cwd ?? dataDir,
      env: options.env ?? { PATH: process.env.PATH ?? '' },
      stdin: options.stdin ?? 'null',
    });
  };
  return {
    dataDir,
    keeper,
    tryStart,
    start: async (argv, options) => {
      const child = await tryStart(argv, options);
      if ('error' in child) throw new Error(`${child.error}: ${child.message}`);
      return child;
    },
    [Symbol.asyncDispose]: async () => {
      const { pid } = keeper;
      await keeper.stop().catch(() => undefined);
      keeper.close();
      await ended(pid);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Everything that a follow delivers, put together. */
export interface Collected extends SpoolEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly chunks: number;
}

/** Follows a child to its end. */
export async function collect(
  items: AsyncIterable<SpoolItem>,
  onStdout?: (soFar: string) => void,
): Promise<Collected> {
  const parts = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  for await (const item of items) {
    if ('exit' in item) {
      const stdout = Buffer.concat(parts.stdout).toString();
      const stderr = Buffer.concat(parts.stderr).toString();
      return { ...item, stdout, stderr, chunks: parts.stdout.length + parts.stderr.length };
    }
    parts[item.stream].push(item.bytes);
    if (item.stream === 'stdout') onStdout?.(Buffer.concat(parts.stdout).toString());
  }
  throw new Error('the follow ended without an end');
}

/** Follows a child from the beginning of both streams to its end. */
export async function run(child: ChildSource): Promise<Collected> {
  return await collect(child.events({ fromStdout: 0, fromStderr: 0 }));
}

/** The exit as the keeper saw it. */
export function known(exit: ExitFacts): KnownExit {
  if (exit.unknown) throw new Error('the exit is not known');
  return exit;
}

/** Resolves with what stands in stdout as soon as it holds the text. */
export async function stdoutHas(child: ChildSource, text: string): Promise<string> {
  let soFar = '';
  for await (const item of child.events({ fromStdout: 0, fromStderr: 0 })) {
    if ('exit' in item) break;
    if (item.stream === 'stdout') soFar += Buffer.from(item.bytes).toString();
    if (soFar.includes(text)) return soFar;
  }
  throw new Error(`stdout ended without ${text}: ${soFar}`);
}

/** The pid of a child that is known to have one. */
export function pidOf({ pid }: ChildSource): number {
  if (pid === undefined) throw new Error('the child has no process');
  return pid;
}

/** Whether there is such a process that has not ended. */
export function isRunning(pid: number): boolean {
  return isAliveNow(pid);
}

/** Resolves when the process has ended; there is no event for a process that is not a child. */
export async function ended(pid: number): Promise<void> {
  while (isAliveNow(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Path of a stand-in agent. */
export function agent(name: string): string {
  return fileURLToPath(new URL(`../../golden/children/${name}`, import.meta.url));
}

function isAliveNow(pid: number): boolean {
  const identity = identifyProcess(pid);
  return identity !== undefined && isAlive(identity);
}
