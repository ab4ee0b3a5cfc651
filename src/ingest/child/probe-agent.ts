import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { SpawnRequest } from '../keeper/protocol.js';
import { parseObject } from '../keeper/protocol.js';
import { checkCwd, explainSpawnError } from '../keeper/spawn-failure.js';

const MAX_OUTPUT_BYTES = 65_536;
const MAX_TEXT_CHARS = 128;

export interface ProbeAgentOptions extends Pick<SpawnRequest, 'argv' | 'cwd' | 'env'> {
  /** From its start to its end; then it is killed. */
  readonly limitMs: number;
  /** Kills it. */
  readonly signal: AbortSignal;
}

/** What an agent says of itself; or, for people, why it says nothing that can be read. */
export type AgentProbe =
  | { readonly version: string; readonly hep: string }
  | { readonly failed: string };

/**
 * Runs a program that prints one JSON object with `version` and `hep`, as `fa --version --output json`
 * does. Nothing of its process group is left when the answer is there. Never rejects.
 */
export async function probeAgent(options: ProbeAgentOptions): Promise<AgentProbe> {
  const unfit = checkCwd(options.cwd);
  if (unfit !== undefined) return { failed: unfit.message };
  try {
    return await run(options);
  } catch (thrown) {
    return { failed: explainSpawnError(options, thrown).message };
  }
}

async function run({ argv, cwd, env, limitMs, signal }: ProbeAgentOptions): Promise<AgentProbe> {
  const [program = '', ...args] = argv;
  // Leader of its own process group, so that what it starts can be killed with it.
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const child = spawn(program, args, { cwd, env: { ...env }, stdio: [...stdio], detached: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let cut: string | undefined;
  function stop(why: string): void {
    cut ??= why;
    // After its end the number may be another's.
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
    // What has left the group may still hold it.
    child.stdout?.destroy();
  }
  const onAbort = (): void => stop('the gateway stops');
  const timer = setTimeout(() => stop(`it did not end within ${limitMs} ms`), limitMs);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) stop(`it printed more than ${MAX_OUTPUT_BYTES} bytes`);
    else chunks.push(chunk);
  });
  child.once('exit', () => killGroup(child.pid));
  try {
    const [code, signalName] = await once(child, 'close');
    if (cut !== undefined) return { failed: cut };
    if (signalName !== null) return { failed: `it was ended by ${signalName}` };
    if (code !== 0) return { failed: `it ended with exit code ${code}` };
    return decode(Buffer.concat(chunks).toString());
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function decode(text: string): AgentProbe {
  const { version, hep } = parseObject(text) ?? {};
  if (isShortText(version) && isShortText(hep)) return { version, hep };
  return { failed: 'it did not print one JSON object with the texts "version" and "hep"' };
}

function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_TEXT_CHARS;
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}
