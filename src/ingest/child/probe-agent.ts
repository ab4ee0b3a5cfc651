import { execFile } from 'node:child_process';

/** What an agent says of itself. */
export type ProbeAnswer =
  | { readonly version: string; readonly hep: string }
  /** It did not say: `why` names the program and what it did instead. */
  | { readonly why: string };

export interface ProbeRequest {
  /** Program and arguments, e.g. `fa --version --output json`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the program; default 10 s. */
  readonly timeoutMs?: number;
}

const MAX_ANSWER_BYTES = 65_536;
const DEFAULT_TIMEOUT_MS = 10_000;

/** Asks an agent which version of HEP it speaks. Never rejects. */
export function probeAgent(request: ProbeRequest): Promise<ProbeAnswer> {
  const [program = '', ...args] = request.argv;
  const { cwd, env, timeoutMs = DEFAULT_TIMEOUT_MS } = request;
  const limits = {
    timeout: timeoutMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: MAX_ANSWER_BYTES,
  };
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, env, ...limits }, (error, stdout) => {
      if (error?.killed === true) {
        resolve({ why: `${program} gave no answer in ${timeoutMs} ms, or one that is too long` });
      } else if (error !== null) {
        resolve({ why: error.message.trim().slice(0, 500) });
      } else {
        resolve(decodeAnswer(program, stdout));
      }
    });
    child.stdin?.end();
  });
}

function decodeAnswer(program: string, stdout: string): ProbeAnswer {
  try {
    const value: unknown = JSON.parse(stdout);
    if (typeof value === 'object' && value !== null && 'hep' in value) {
      const { hep, version } = value as { hep: unknown; version?: unknown };
      if (typeof hep === 'string') {
        return { hep, version: typeof version === 'string' ? version : '' };
      }
    }
  } catch {
    // Falls through: no JSON.
  }
  const seen = JSON.stringify(stdout.slice(0, 100));
  return { why: `${program} printed ${seen}, not {"version":"...","hep":"v1"}` };
}
