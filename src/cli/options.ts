import { type Command, InvalidArgumentError, Option } from 'commander';
import { DURATION_FORM, parseDuration } from '../config/quantity.js';

export const DEFAULT_SERVER = '127.0.0.1:4880';

/** Options of every command that talks to a bridge. */
export interface ServerOptions {
  readonly server: string;
}

export interface FormatOptions {
  readonly output: 'text' | 'json';
}

/** Adds `--server`. */
export function withServer(command: Command): Command {
  return command.addOption(
    new Option('-s, --server <host:port>', 'the bridge to talk to')
      .env('HEP_BRIDGE_SERVER')
      .default(DEFAULT_SERVER),
  );
}

/** Adds `-o`. */
export function withFormat(command: Command, json: string): Command {
  return command.addOption(
    new Option('-o, --output <format>', `json: ${json}; errors are JSON then, too`)
      .choices(['text', 'json'])
      .default('text'),
  );
}

/** Adds the options of a run that this process feeds. */
export function withRunOptions(command: Command): Command {
  return command
    .addOption(labelOption('label of the run, for `runs --label`; repeatable'))
    .option('--run-id <uuid>', 'a UUIDv7 of your own; the same one again resumes the run')
    .option('--partition-key <key>', 'runs with one key reach workers in order (a conversation id)')
    .option('--strict', 'end the run as FAILED at the first line that breaks a rule of HEP');
}

export interface RunOptions extends ServerOptions {
  readonly label: Readonly<Record<string, string>>;
  readonly runId?: string;
  readonly partitionKey?: string;
  readonly strict?: boolean;
}

/** `--label key=value`, once or several times. */
export function labelOption(description: string): Option {
  return new Option('-l, --label <key=value>', description).argParser(label).default({}, 'none');
}

function label(
  text: string,
  earlier: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const at = text.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('Give it as key=value.');
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/** A whole number from `least` on. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `${least} to ${most}`;
    throw new InvalidArgumentError(`Give a whole number, ${range}.`);
  };
}

/** A duration in milliseconds, at most `most`; `remedy` is added to what is said of another text. */
export function duration(most: string, remedy = '') {
  const mostMs = parseDuration(most) ?? 0;
  return (text: string): number => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms <= mostMs) return ms;
    throw new InvalidArgumentError(`Give ${DURATION_FORM}, at most ${most}${remedy}.`);
  };
}

/** A moment: an ISO 8601 time, or how long ago. */
export function moment(text: string): Date {
  const agoMs = parseDuration(text);
  const date = agoMs === undefined ? new Date(text) : new Date(Date.now() - agoMs);
  if (!Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError(
    'Give how long ago (30m, 2h, 7d) or a time (2025-01-31T08:00:00Z).',
  );
}
