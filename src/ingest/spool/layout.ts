import { join } from 'node:path';
import { BridgeError } from '../../errors.js';

/** The two streams of a child that are spooled. */
export type SpoolStream = 'stdout' | 'stderr';

/** The signals that an escalation sends, each at most once a run. */
export type CancelSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL';

/** Names of the files in a run's spool directory. */
export const spoolFiles = {
  /** The start request as the owner wrote it, JSON. */
  request: 'request.json',
  stdout: 'stdout',
  stderr: 'stderr',
  /** The user's text, for an agent that reads it from a file or from stdin. */
  prompt: 'prompt',
  /** The keeper began to spawn; stays if the keeper died before it could say what became of it. */
  spawning: 'spawning',
  /** Who the child is (`process-file.ts`); there from the moment that it runs. */
  process: 'process.json',
  /** How the child ended (`exit-file.ts`); there once all of its output stands in the files. */
  exit: 'exit.json',
} as const;

/** File that says that the signal was sent, or was about to be. */
export const signalFiles: Readonly<Record<CancelSignal, string>> = {
  SIGINT: 'signal-INT',
  SIGTERM: 'signal-TERM',
  SIGKILL: 'signal-KILL',
};

/** Directory that holds one directory a run. */
export function spoolRoot(dataDir: string): string {
  return join(dataDir, 'spool');
}

/**
 * Spool directory of a run. Throws `INVALID_REQUEST` for an id that is not 1 to 64 letters, digits,
 * `-` or `_`, since it becomes a file name.
 */
export function spoolDir(dataDir: string, runId: string): string {
  if (!isSpoolName(runId)) {
    throw new BridgeError('INVALID_REQUEST', `run id ${JSON.stringify(runId)} cannot be spooled`, {
      fields: [{ field: 'run_id', description: '1 to 64 letters, digits, "-" or "_"' }],
    });
  }
  return join(spoolRoot(dataDir), runId);
}

/** Whether the text can be a run's directory name. */
export function isSpoolName(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(name);
}
