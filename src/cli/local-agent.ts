import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoCode } from '../ingest/spool/errno.js';

/** How a local agent ended. */
export type LocalExit =
  | { readonly exitCode: number }
  | { readonly signal: NodeJS.Signals }
  | { readonly spawnError: string };

/** An agent that this process started, as leader of its own process group. */
export interface LocalAgent {
  /** Resolves when it is gone, before its pipes are at their end. */
  readonly ended: Promise<LocalExit>;
  /** Resolves when both pipes are at their end, or when the agent is gone and they are quiet. */
  readonly drained: Promise<void>;
  /** Sends a signal to it, or to its group; the system's code if that failed. */
  signal(signal: NodeJS.Signals, group: boolean): { readonly error?: string };
}

/** A pipe that a grandchild holds is given up when nothing came for so long after the agent's end. */
const quietMs = 500;
/** And in any case after so long. */
const maxDrainMs = 10_000;

/** Starts `argv` with this process's environment; its bytes go to the sinks, which hold the pipes back. */
export function startLocalAgent(
  argv: readonly string[],
  sinks: Readonly<Record<'stdout' | 'stderr', (bytes: Uint8Array) => Promise<void>>>,
): LocalAgent {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    detached: true,
    // In a session of its own it could not read this terminal anyhow.
    stdio: [process.stdin.isTTY ? 'ignore' : 'inherit', 'pipe', 'pipe'],
  });
  const ended = endOf(child, program);
  let lastAtMs = performance.now();
  let busy = 0;
  async function pump(stream: Readable, sink: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    try {
      for await (const chunk of stream) {
        busy += 1;
        await sink(chunk);
        busy -= 1;
        lastAtMs = performance.now();
      }
    } catch {
      // Given up by `giveUp`, or broken: what was read is what there is.
    }
  }

  async function giveUp(signal: AbortSignal): Promise<void> {
    await ended;
    const endedAtMs = performance.now();
    lastAtMs = Math.max(lastAtMs, endedAtMs);
    for (;;) {
      const now = performance.now();
      const isQuiet = busy === 0 && now - lastAtMs >= quietMs;
      if (isQuiet || (busy === 0 && now - endedAtMs >= maxDrainMs)) break;
      await delay(50, undefined, { signal });
    }
    child.stdout.destroy();
    child.stderr.destroy();
  }

  async function drain(): Promise<void> {
    const atEnd = new AbortController();
    const both = Promise.all([pump(child.stdout, sinks.stdout), pump(child.stderr, sinks.stderr)]);
    const givingUp = giveUp(atEnd.signal).catch(() => undefined);
    await both;
    atEnd.abort();
    await ended;
    await givingUp;
    killLeftovers(child);
  }

  return {
    ended,
    drained: drain(),
    signal(signal, group) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
        return { error: 'ESRCH' };
      }
      return kill(group ? -child.pid : child.pid, signal);
    },
  };
}

function endOf(child: ChildProcess, program: string): Promise<LocalExit> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      const why = errnoCode(error) === 'ENOENT' ? 'no such program' : error.message;
      if (child.pid === undefined) resolve({ spawnError: `cannot start ${program}: ${why}` });
    });
    child.once('exit', (exitCode, signal) => {
      resolve(signal === null ? { exitCode: exitCode ?? 0 } : { signal });
    });
  });
}

/** As the bridge does with agents of its own: what a run leaves behind ends with it. */
function killLeftovers(child: ChildProcess): void {
  if (child.pid !== undefined) kill(-child.pid, 'SIGKILL');
}

function kill(pid: number, signal: NodeJS.Signals): { readonly error?: string } {
  try {
    process.kill(pid, signal);
    return {};
  } catch (error) {
    return { error: errnoCode(error) ?? 'EIO' };
  }
}
