// Starts the processes of a row, and says what they took: CPU seconds and peak memory of each.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

const TICKS_A_SECOND = 100;

/**
 * `stdin` is a file's path, or undefined. Call `usage` before it has been ended: it reads /proc.
 */
export function start(command, args, { stdin, env = {} } = {}) {
  const input = stdin === undefined ? 'ignore' : openSync(stdin, 'r');
  const child = spawn(command, args, {
    stdio: [input, 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  if (stdin !== undefined) closeSync(input);
  let stdout = '';
  let stderr = '';
  let peak = { cpuSeconds: 0, rssBytes: 0 };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr = (stderr + text).slice(-4_000);
  });
  const closed = once(child, 'close');
  const sampler = setInterval(() => sample(), 50);
  function sample() {
    peak = usageOf(child.pid) ?? peak;
  }
  closed.then(() => clearInterval(sampler));

  return {
    pid: child.pid,
    /** The first line that it prints. */
    async firstLine() {
      while (!stdout.includes('\n')) {
        if (child.exitCode !== null) throw new Error(`${command} ended: ${stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return stdout.slice(0, stdout.indexOf('\n'));
    },
    /** What it printed, once it has ended; an exit code other than 0 is an error. */
    async result() {
      const [code] = await closed;
      if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}`);
      return stdout;
    },
    usage() {
      sample();
      return peak;
    },
    async end(signal = 'SIGTERM') {
      sample();
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await closed;
      return peak;
    },
  };
}

/** CPU so far and the highest resident size; undefined if the process is gone. */
export function usageOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
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
