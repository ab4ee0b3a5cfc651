import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const BINARY = fileURLToPath(new URL('../../bin/nats-server', import.meta.url));

export interface TestNatsOptions {
  /** More of the server's configuration, e.g. `{ max_payload: 1024 }`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** A free one unless given. */
  readonly port?: number;
}

/** A real nats-server with JetStream on loopback, in a temporary directory. */
export interface TestNats extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly storeDir: string;
  /** Ends it with SIGKILL and starts it again on the same port and store. */
  kill9AndRestart(): Promise<void>;
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP or SIGCONT. */
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts one; `make build` makes the program. */
export async function startNats(options: TestNatsOptions = {}): Promise<TestNats> {
  const dir = mkdtempSync(join(tmpdir(), 'hep-nats-'));
  const storeDir = join(dir, 'store');
  const configFile = join(dir, 'server.conf');
  writeFileSync(configFile, JSON.stringify({ ...options.config }));
  let port = options.port ?? -1;
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const portsDir = mkdtempSync(join(dir, 'ports-'));
    const listen = ['-a', '127.0.0.1', '-p', String(port), '--ports_file_dir', portsDir];
    const args = ['-c', configFile, '-js', '-sd', storeDir, ...listen];
    const started = spawn(BINARY, args, { stdio: 'ignore' });
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
    storeDir,
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
