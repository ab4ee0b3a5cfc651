import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const BINARY = fileURLToPath(new URL('../../bin/nats-server', import.meta.url));

/** A real nats-server with JetStream on loopback, in a temporary directory. */
export interface TestNats extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends it with SIGKILL and starts it again on the same port and store. */
  kill9AndRestart(): Promise<void>;
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP or SIGCONT. */
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts one; `make build` makes the program. */
export async function startNats(): Promise<TestNats> {
  const dir = mkdtempSync(join(tmpdir(), 'hep-nats-'));
  let port = -1;
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const portsDir = mkdtempSync(join(dir, 'ports-'));
    const args = ['-js', '-sd', join(dir, 'store'), '-a', '127.0.0.1', '-p', String(port)];
    const started = spawn(BINARY, [...args, '--ports_file_dir', portsDir], { stdio: 'ignore' });
    started.once('error', (error) => {
      throw new Error(`cannot start ${BINARY}; run "make build" first`, { cause: error });
    });
    for (;;) {
      const file = readdirSync(portsDir).find((name) => name.endsWith('.ports'));
      const text = file === undefined ? '' : readFileSync(join(portsDir, file), 'utf8');
      if (text.endsWith('}')) {
        const { nats } = JSON.parse(text) as { nats: readonly string[] };
        port = Number(new URL(nats[0] ?? '').port);
        return started;
      }
      if (started.exitCode !== null) throw new Error(`nats-server ended: ${started.exitCode}`);
      await delay(5);
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  const nats: TestNats = {
    get url() {
      return `nats://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get pid() {
      return child.pid ?? 0;
    },
    async kill9AndRestart() {
      await end('SIGKILL');
      child = await launch();
    },
    kill9: () => end('SIGKILL'),
    async restart() {
      child = await launch();
    },
    signal(signal) {
      child.kill(signal);
    },
    async stop() {
      child.kill('SIGCONT');
      await end('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => nats.stop(),
  };
  return nats;
}
