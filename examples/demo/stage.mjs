// The processes of the demo: started here, ended here, by their ids alone.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { note } from './narrate.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = (name) => join(root, 'bin', name);
const agent = join(root, 'examples/agent/agent.mjs');
const run = promisify(execFile);
const PATIENCE_MS = 30_000;

export async function startStage() {
  const dir = mkdtempSync(join(tmpdir(), 'hep-demo-'));
  const dataDir = join(dir, 'data');
  const journals = join(dir, 'journals');
  mkdirSync(journals);
  const children = new Set();

  /** Ends with the stage, if not before. */
  function start(command, args, options = {}) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }

  async function cli(bridge, ...args) {
    const { stdout } = await run(process.execPath, [
      bin('hep-bridge'),
      ...args,
      '--server',
      bridge.address,
    ]);
    return stdout;
  }

  async function runs(bridge) {
    const lines = (await cli(bridge, 'runs', '-o', 'json')).trim().split('\n');
    return lines.filter(Boolean).map((line) => {
      const record = JSON.parse(line);
      return { ...record, outcome: (record.outcome ?? '').replace('OUTCOME_', '') };
    });
  }

  return {
    journals,
    cli,
    runs,

    async serve() {
      const profile = (...more) => ({
        command: [
          process.execPath,
          agent,
          '--journal-dir',
          journals,
          ...more,
          '--prompt-file',
          '{prompt_file}',
        ],
        env_allow: ['PATH'],
        interrupt_grace: '2s',
        terminate_grace: '1s',
      });
      // YAML is a superset of JSON.
      const config = {
        profiles: { agent: profile(), endless: profile('--forever', '--pace-ms', '20') },
      };
      const file = join(dir, 'hep-bridge.yaml');
      writeFileSync(file, JSON.stringify(config, undefined, 2));
      const flags = [
        '--listen',
        '127.0.0.1:0',
        '--data-dir',
        dataDir,
        '--config',
        file,
        '-o',
        'json',
      ];
      const child = start(process.execPath, [bin('hep-bridge'), 'serve', ...flags]);
      const log = collect(child.stderr);
      for await (const line of createInterface({ input: child.stdout })) {
        const ready = JSON.parse(line);
        const { token } = JSON.parse(readFileSync(ready.nats_token_file, 'utf8'));
        return { address: ready.address, natsUrl: ready.nats_url, token, child };
      }
      throw new Error(`the bridge did not start: ${log()}`);
    },

    worker(name, bridge) {
      const flags = ['-nats-url', bridge.natsUrl, '-token', bridge.token, '-name', name];
      const child = start(bin('go-worker'), [...flags, '-durable', 'demo', '-all']);
      return { name, child, output: collect(child.stdout), ready: once(child, 'spawn') };
    },

    async driver(bridge, prompt, profile = 'agent', voice = 'loud') {
      const flags = ['--addr', bridge.address, '--profile', profile, '--prompt', prompt];
      const child = start(bin('go-driver'), flags);
      const output = collect(child.stdout);
      const errors = collect(child.stderr);
      if (voice === 'loud' && profile === 'agent') {
        createInterface({ input: child.stdout }).on('line', (line) => note(`| ${line}`));
      }
      const [code] = await once(child, 'close');
      return { code, output: output() + errors() };
    },

    /** Id of the endless run, once its agent has begun to stream. */
    async endlessId() {
      const isEndless = (file) => readFileSync(join(journals, file), 'utf8').includes('and on ');
      for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 50) {
        const journal = readdirSync(journals).find(isEndless);
        if (journal !== undefined) return basename(journal, '.jsonl');
        await delay(50);
      }
      throw new Error('the endless run did not begin');
    },

    async pipe(bridge) {
      const file = join(dir, 'piped.jsonl');
      const { stdout } = await run(process.execPath, [agent, '--pace-ms', '0']);
      writeFileSync(file, stdout);
      const child = start(
        process.execPath,
        [
          ...[bin('hep-bridge'), 'pipe', '--exit-code', '0', '--label', 'from=pipe'],
          ...['--server', bridge.address],
        ],
        { stdio: ['pipe', 'pipe', 'pipe'] },
      );
      const output = collect(child.stdout);
      child.stdin.end(stdout);
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(`pipe ended with ${code}`);
      return { runId: output().trim(), file };
    },

    async export(bridge, runId) {
      const flags = [bin('hep-bridge'), 'export', runId, '--server', bridge.address];
      const { stdout } = await run(process.execPath, flags, { encoding: 'buffer' });
      return stdout;
    },

    /** What each worker handled, once the end of every run came to one of them. */
    async workerShares(workers, runIds) {
      const shares = () =>
        workers.map(({ name, output }) => [name, output().split('\n').filter(Boolean).map(stepOf)]);
      for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 50) {
        const text = workers.map(({ output }) => output()).join('');
        if (runIds.every((runId) => text.includes(`${runId} `) && isFinished(text, runId)))
          return shares();
        await delay(50);
      }
      throw new Error('the workers did not get to the end of all runs');
    },

    /** Ends all that was started and says what is left, agents, keeper and nats-server included. */
    async stop() {
      for (const child of children) child.kill('SIGTERM');
      let left = await runningIn(dir, children);
      for (let waitedMs = 0; left.length > 0 && waitedMs < PATIENCE_MS; waitedMs += 100) {
        await delay(100);
        left = await runningIn(dir, children);
      }
      for (const child of children) child.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
      return left;
    },
  };
}

/** Our own children, and all processes that have the demo's folder among their arguments. */
async function runningIn(dir, children) {
  const pids = new Set([...children].map(({ pid }) => pid));
  const { stdout } = await run('ps', ['-axo', 'pid=,args=']);
  const lines = stdout.split('\n').map((line) => line.trim());
  return lines.filter((line) => line.includes(dir) || pids.has(Number.parseInt(line, 10)));
}

/** All that a stream has said so far. */
function collect(stream) {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (more) => {
    text += more;
  });
  return () => text;
}

const stepOf = (line) => /run (\S+ #\d+)/.exec(line)?.[1] ?? line;
const isFinished = (text, runId) => new RegExp(`run ${runId} #\\d+ run finished`).test(text);
