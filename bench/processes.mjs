// Starts the processes of a row, says what they took, and ends them all by their ids.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const TICKS_A_SECOND = 100;
const SAMPLE_MS = 20;
const ORDERLY_END_MS = 10_000;

/** Those that were started and have not ended. */
const live = new Set();

/** `stdin` is a file's path, or undefined. */
export function start(command, args, { stdin } = {}) {
  const input = stdin === undefined ? 'ignore' : openSync(stdin, 'r');
  const child = spawn(command, args, { stdio: [input, 'pipe', 'pipe'] });
  if (stdin !== undefined) closeSync(input);
  let stdout = '';
  let stderr = '';
  let peak = { cpuSeconds: 0, rssBytes: 0 };
  const firstLine = deferred();
  firstLine.promise.catch(() => {});
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    const end = stdout.indexOf('\n');
    if (end >= 0) firstLine.resolve({ line: stdout.slice(0, end), atMs: Date.now() });
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr = (stderr + text).slice(-4_000);
  });
  let ending;
  const closed = once(child, 'close');
  const sample = () => {
    peak = usageOf(child.pid) ?? peak;
  };
  const sampler = setInterval(sample, SAMPLE_MS);
  const over = closed
    .catch((error) => {
      stderr += error.message;
    })
    .then(() => {
      clearInterval(sampler);
      live.delete(started);
      firstLine.reject(new Error(`${command} ended: ${stderr}`));
    });

  const started = {
    pid: child.pid,
    /** The first line that it prints, with the time at which it came. */
    firstLine: () => firstLine.promise,
    /** What it printed, once it has ended; an exit code other than 0 is an error. */
    async result() {
      await over;
      if (child.exitCode === 0) return stdout;
      const how = child.exitCode ?? child.signalCode;
      throw new Error(`${command} ${args.join(' ')} ended with ${how}: ${stderr}`);
    },
    /** CPU and memory as last seen: up to SAMPLE_MS before its end. */
    usage() {
      sample();
      return peak;
    },
    /** Ends it in order, by force after a while; its children end with it. Safe twice. */
    end(signal = 'SIGTERM') {
      ending ??= endWithChildren(child, signal, over);
      return ending;
    },
  };
  live.add(started);
  return started;
}

async function endWithChildren(child, signal, over) {
  const running = child.exitCode === null && child.signalCode === null;
  if (running && child.pid !== undefined) {
    const children = childrenOf(child.pid).map((pid) => ({ pid, born: bornAt(pid) }));
    child.kill(signal);
    const force = setTimeout(() => child.kill('SIGKILL'), ORDERLY_END_MS);
    await over;
    clearTimeout(force);
    for (const { pid, born } of children) {
      // A child that is gone may have left its id to a stranger.
      if (born !== undefined && bornAt(pid) === born) process.kill(pid, 'SIGKILL');
    }
  }
  await over;
}

/** Ends whatever a row that failed has left. */
export async function endAll() {
  await Promise.all([...live].map((started) => started.end()));
}

/** Rejects once `ms` have passed and `work` has not ended. */
export async function within(ms, what, work) {
  const abort = new AbortController();
  const late = delay(ms, undefined, { signal: abort.signal }).then(() => {
    throw new Error(`${what} was not done after ${ms / 1_000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    abort.abort();
    late.catch(() => {});
  }
}

/** CPU so far and the highest resident size; undefined if the process is gone. */
export function usageOf(pid) {
  try {
    const fields = statOf(pid);
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const peakKib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND,
      rssBytes: peakKib * 1_024,
    };
  } catch {
    return undefined;
  }
}

/** Process ids of the direct children that live now. */
export function childrenOf(pid) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((other) => {
    try {
      return Number(statOf(other)[1]) === pid;
    } catch {
      return false;
    }
  });
}

/** The fields of /proc/PID/stat from the state on, which is field 3 in proc(5). */
function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** When it was started, in clock ticks; undefined if it is gone. */
function bornAt(pid) {
  try {
    return statOf(pid)[19];
  } catch {
    return undefined;
  }
}

function deferred() {
  let resolve;
  let reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
