import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../bin/hep-bridge', import.meta.url));
export const streamsDir = fileURLToPath(new URL('../golden/streams/', import.meta.url));
/** The stand-in agent of the examples. */
export const agentFile = fileURLToPath(new URL('../../examples/agent/agent.mjs', import.meta.url));
export const childrenDir = fileURLToPath(new URL('../golden/children/', import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface CliOptions {
  readonly input?: Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `hep-bridge` with `args`; its stdin stays open. */
export function startCli(args: readonly string[], env: CliOptions['env'] = {}): ChildProcess {
  return spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
}

/** What a started `hep-bridge` has said when it ends. */
export async function resultOf(child: ChildProcess): Promise<CliResult> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk) => stdout.push(chunk));
  child.stderr?.on('data', (chunk) => stderr.push(chunk));
  const [code] = await once(child, 'close');
  return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() };
}

/** Runs `hep-bridge` to its end. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = startCli(args, options.env);
  // A command that reads no input may be gone before it is given.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input);
  return resultOf(child);
}

/** A `hep-bridge serve` on a free port. */
export interface ServedBridge extends AsyncDisposable {
  readonly address: string;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** What it wrote to stderr since its last start. */
  readonly log: string;
  /** Sends it a signal that does not end it. */
  signal(signal: NodeJS.Signals): void;
  /** Stops it with `signal`; resolves with its exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
  /** Starts it again on the same address and data. */
  restart(): Promise<void>;
}

export async function serveBridge(args: readonly string[] = []): Promise<ServedBridge> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hep-cli-'));
  const own = ['--data-dir', dataDir, '--durability', 'process', '-o', 'json', ...args];
  let address = '127.0.0.1:0';
  let errors: Buffer[] = [];
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const started = startCli(['serve', '--listen', address, ...own]);
    errors = [];
    started.stderr?.on('data', (chunk) => errors.push(chunk));
    if (started.stdout === null) throw new Error('no stdout');
    const lines = createInterface({ input: started.stdout });
    const ready = await Promise.race([once(lines, 'line'), once(started, 'exit')]);
    if (typeof ready[0] !== 'string') {
      rmSync(dataDir, { recursive: true, force: true });
      throw new Error(Buffer.concat(errors).toString());
    }
    address = JSON.parse(ready[0]).address;
    return started;
  }

  async function stop(signal: NodeJS.Signals): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = await exited;
    return code;
  }

  return {
    get address() {
      return address;
    },
    dataDir,
    get env() {
      return { HEP_BRIDGE_SERVER: address };
    },
    get log() {
      return Buffer.concat(errors).toString();
    },
    signal: (signal) => {
      child.kill(signal);
    },
    stop,
    async restart() {
      child = await launch();
    },
    async [Symbol.asyncDispose]() {
      // A private nats-server that a killed bridge left is adopted, and ends with this one.
      if (child.signalCode !== null) child = await launch();
      await stop('SIGTERM');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
