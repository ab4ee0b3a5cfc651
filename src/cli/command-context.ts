import type { Output } from './output.js';

/** What every command gets from the process; tests and `main` make it. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets the exit code of a command that did its work. */
  exit(code: number): void;
}
