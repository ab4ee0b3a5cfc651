import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../bin/hep-bridge', import.meta.url));

/** `hep-bridge serve` as a process of its own, so that it can be killed and stopped. */
export interface ServedBridge {
  readonly address: string;
  readonly pid: number;
  /** What it wrote to stderr last, at most 64 KiB: its log. */
  log(): string;
  /** Sends the signal and waits for the process's end. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Sends the signal only: SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void;
}

export interface ServeBridgeOptions {
  readonly dataDir: string;
  /** More lines of its configuration, in YAML; the profile `sh` runs its prompt as a script. */
  readonly config?: readonly string[];
  readonly args?: readonly string[];
  /** Beside the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the process's pid, long before it is ready. */
  readonly onSpawned?: (pid: number) => void;
}

/** Starts a bridge that was built before, with a private nats-server unless `args` names another. */
export async function serveBridge(options: ServeBridgeOptions): Promise<ServedBridge> {
  const { dataDir, config = [], args = [], env = {} } = options;
  const file = join(dataDir, 'config.yaml');
  mkdirSync(dataDir, { recursive: true });
  const profile = [
    'profiles:',
    '  sh:',
    '    command: ["sh", "{prompt_file}"]',
    '    env_allow: [PATH]',
    '    interrupt_grace: 500ms',
    '    terminate_grace: 500ms',
  ];
  writeFileSync(file, `${[...config, ...profile].join('\n')}\n`);
  const flags = ['--listen', '127.0.0.1:0', '--data-dir', dataDir, '--config', file];
  const all = [...flags, '--durability', 'process', '-o', 'json', ...args];
  const child = spawn(process.execPath, [COMMAND, 'serve', ...all], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  if (child.pid !== undefined) options.onSpawned?.(child.pid);
  let log = '';
  child.stderr.on('data', (bytes: Buffer) => {
    log = `${log}${bytes.toString()}`.slice(-65_536);
  });
  async function kill(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
  for await (const line of createInterface({ input: child.stdout })) {
    const { address } = JSON.parse(line) as { address: string };
    return {
      address,
      pid: child.pid ?? 0,
      log: () => log,
      kill,
      signal: (signal) => child.kill(signal),
    };
  }
  throw new Error(`serve ended before it was ready: ${log}`);
}
