import { constants } from 'node:os';
import { join } from 'node:path';
import { spoolFiles } from './layout.js';
import { readJsonFile } from './whole-file.js';

/** How a child ended, as the keeper that reaped it saw it. */
export interface KnownExit {
  readonly unknown: false;
  /** Exit code; null if a signal ended it. */
  readonly code: number | null;
  /** Name of the signal that ended it; null if it exited. */
  readonly signal: NodeJS.Signals | null;
  /** Bytes in the file when the process ended: all of the run's stdout. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Processes of its group that still ran and were killed. */
  readonly leftover: number;
  /** Processes that left the group and run on; 0 where there is no `/proc` to find them. */
  readonly escaped: number;
  /** Unix time in milliseconds. */
  readonly exitTimeMs: number;
}

/** The process is gone and so is the keeper that would have seen how. */
interface UnknownExit {
  readonly unknown: true;
  /** Bytes in the file when the process was found gone. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Processes of its group that still ran and were killed when it was found gone. */
  readonly leftover: number;
}

export type ExitFacts = KnownExit | UnknownExit;

/** The content of `exit.json`, padded with blanks to `length` bytes if it is shorter. */
export function encodeExit(exit: KnownExit, length: number): string {
  const { unknown: _, ...facts } = exit;
  return `${JSON.stringify(facts).padEnd(length - 1)}\n`;
}

/** What `exit.json` says; undefined while the process runs, or if nobody saw it end. */
export function readExit(dir: string): KnownExit | undefined {
  return decodeExit(readJsonFile(join(dir, spoolFiles.exit)));
}

function decodeExit(value: unknown): KnownExit | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const facts = value as Readonly<Record<string, unknown>>;
  const { code, signal } = facts;
  if (code !== null && typeof code !== 'number') return undefined;
  if (signal !== null && !isSignalName(signal)) return undefined;
  return {
    unknown: false,
    code,
    signal,
    stdoutBytes: count(facts.stdoutBytes),
    stderrBytes: count(facts.stderrBytes),
    leftover: count(facts.leftover),
    escaped: count(facts.escaped),
    exitTimeMs: count(facts.exitTimeMs),
  };
}

/** Whether the value names a signal of this system. */
export function isSignalName(value: unknown): value is NodeJS.Signals {
  return typeof value === 'string' && Object.hasOwn(constants.signals, value);
}

function count(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? value : 0;
}
