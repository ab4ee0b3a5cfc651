import { existsSync, readFileSync } from 'node:fs';

/** What an agent says that it did; see agent.mjs. */
export interface AgentJournal {
  /** Pids of all agents that kept this journal: there may be one. */
  readonly births: readonly number[];
  /** All that it wrote to stdout, or was about to. */
  readonly stdout: Buffer;
  /** How much of it was written for certain. */
  readonly wroteBytes: number;
  /** Signals that it caught. */
  readonly signals: readonly string[];
  /** Pids of what it forked. */
  readonly children: readonly number[];
  /** With what it was about to exit. */
  readonly exitCode: number | undefined;
  /** Why it could not write. */
  readonly broken: string | undefined;
}

type Entry =
  | { readonly kind: 'born' | 'child'; readonly pid: number }
  | { readonly kind: 'line'; readonly at: number; readonly text: string }
  | { readonly kind: 'wrote'; readonly to: number }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'broken'; readonly code: string };

export function readAgentJournal(file: string): AgentJournal {
  const entries = readEntries<Entry>(file);
  const births: number[] = [];
  const children: number[] = [];
  const signals: string[] = [];
  const lines: string[] = [];
  let wroteBytes = 0;
  let exitCode: number | undefined;
  let broken: string | undefined;
  for (const entry of entries) {
    switch (entry.kind) {
      case 'born':
        births.push(entry.pid);
        break;
      case 'child':
        children.push(entry.pid);
        break;
      case 'line':
        lines.push(entry.text);
        break;
      case 'wrote':
        wroteBytes = entry.to;
        break;
      case 'signal':
        signals.push(entry.signal);
        break;
      case 'exit':
        exitCode ??= entry.code;
        break;
      case 'broken':
        broken = entry.code;
        break;
    }
  }
  return {
    births,
    stdout: Buffer.from(lines.join('')),
    wroteBytes,
    signals,
    children,
    exitCode,
    broken,
  };
}

/** The lines of a journal; one that was cut by a kill is left out. */
export function readEntries<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as T);
}
