import { readdirSync, readFileSync } from 'node:fs';

/** A process that carries the id of a run. */
export interface RunProcess {
  readonly pid: number;
  readonly processGroup: number;
  readonly command: string;
}

/** The processes of all runs that are alive now, by run id: found by their environment. */
export function livingRunProcesses(): Map<string, RunProcess[]> {
  const found = new Map<string, RunProcess[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const runId = runIdOf(pid);
    const processGroup = runId === undefined ? undefined : livingGroupOf(pid);
    if (runId === undefined || processGroup === undefined) continue;
    const command = readProc(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 60);
    const known = found.get(runId) ?? [];
    known.push({ pid, processGroup, command });
    found.set(runId, known);
  }
  return found;
}

/** Sends a signal to a process of the run, and to no other that has its pid by now. */
export function signalOfRun(runId: string, pid: number, signal: NodeJS.Signals): boolean {
  if (runIdOf(pid) !== runId || livingGroupOf(pid) === undefined) return false;
  return send(pid, signal);
}

/** Sends a signal to a process whose command line has all these words. */
export function signalCommand(
  pid: number,
  words: readonly string[],
  signal: NodeJS.Signals,
): boolean {
  const command = readProc(pid, 'cmdline');
  return words.every((word) => command.includes(word)) && send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function runIdOf(pid: number): string | undefined {
  const entry = readProc(pid, 'environ')
    .split('\0')
    .find((text) => text.startsWith('HEP_RUN_ID='));
  return entry?.slice('HEP_RUN_ID='.length);
}

/** Undefined for one that is dead, reaped or not. */
function livingGroupOf(pid: number): number | undefined {
  const stat = readProc(pid, 'stat');
  const [state = 'X', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 'ZXx'.includes(state) ? undefined : Number(group);
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
