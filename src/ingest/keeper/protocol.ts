import { isSignalName } from '../spool/exit-file.js';

/** Version of what is said on the socket; a keeper of another version is not spoken to. */
export const keeperProtocol = 1;

/** Where a child's stdin comes from: nothing, or a file that it reads from the start. */
export type ChildStdin = 'null' | { readonly file: string };

/** A child to be started. */
export interface SpawnRequest {
  readonly runId: string;
  /** The run's spool directory, absolute; it exists. */
  readonly spoolDir: string;
  /** The program (looked up in `env.PATH` if it has no slash) and its arguments. */
  readonly argv: readonly string[];
  /** Working directory, absolute. */
  readonly cwd: string;
  /** The whole environment; the keeper adds `HEP_RUN_ID` and nothing else. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: ChildStdin;
}

/**
 * Why a child was not started. `CWD_*` and `STDIN_*` name what the system's code alone would not;
 * `SPAWN_UNKNOWN`: a keeper died while it started this run; no process of it is left, but one may have
 * run, and what it wrote is in the spool;
 * anything else is the system's own code, such as `ENOENT`, `EACCES` or `E2BIG`.
 */
export interface SpawnFailure {
  readonly error: string;
  /** For people: names the thing. */
  readonly message: string;
}

/** The child of the run, newly started or already there. */
interface Spawned {
  readonly pid: number;
  readonly startTime: string;
}

export type SpawnAnswer = Spawned | SpawnFailure;

export interface SignalRequest {
  readonly runId: string;
  readonly signal: NodeJS.Signals;
  /** To the child's process group instead of the child alone. */
  readonly group: boolean;
}

/** `ESRCH`: the keeper has no such child, or it has ended. */
export type SignalAnswer = { readonly sent: true } | { readonly error: string };

/**
 * What a bridge asks, one JSON object a line; an answer carries the same `id`. `hello` comes first and
 * is answered with `protocol`, `pid` and `children`; `spawn` with a `SpawnAnswer`; `signal` with a
 * `SignalAnswer`; `stop` with `children`: those that run or whose exit is not on file yet.
 */
export type KeeperRequest =
  | { readonly id: number; readonly verb: 'hello' }
  | ({ readonly id: number; readonly verb: 'spawn' } & SpawnRequest)
  | ({ readonly id: number; readonly verb: 'signal' } & SignalRequest)
  | { readonly id: number; readonly verb: 'stop' };

/** One line from the socket as a request; undefined if it is none. */
export function decodeRequest(line: string): KeeperRequest | undefined {
  const value = parseObject(line);
  if (value === undefined || typeof value.id !== 'number') return undefined;
  const { id, verb, runId } = value;
  if (verb === 'hello' || verb === 'stop') return { id, verb };
  if (typeof runId !== 'string') return undefined;
  if (verb === 'signal') {
    const { signal, group } = value;
    if (!isSignalName(signal) || typeof group !== 'boolean') return undefined;
    return { id, verb, runId, signal, group };
  }
  if (verb !== 'spawn') return undefined;
  const { spoolDir, argv, cwd, env } = value;
  const stdin = decodeStdin(value.stdin);
  if (typeof spoolDir !== 'string' || typeof cwd !== 'string' || stdin === undefined) {
    return undefined;
  }
  if (!isStrings(argv) || argv.length === 0 || !isStringRecord(env)) return undefined;
  return { id, verb, runId, spoolDir, argv, cwd, env, stdin };
}

/** The JSON object in a text; undefined if it holds anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the value is a JSON object. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decodeStdin(value: unknown): ChildStdin | undefined {
  if (value === 'null') return 'null';
  if (isRecord(value) && typeof value.file === 'string') return { file: value.file };
  return undefined;
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isStringRecord(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((item) => typeof item === 'string');
}
