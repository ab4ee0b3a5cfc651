import { CommanderError } from 'commander';
import { BridgeError, toBridgeError } from '../errors.js';
import type { CommandContext } from './command-context.js';
import { exitCodeOf } from './exit-code.js';
import { createOutput } from './output.js';
import { createProgram } from './program.js';
import { errorText } from './report-error.js';

/** Runs the command line `argv` (without node and script) to its end; sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  const stdout = createOutput(process.stdout);
  const stderr = createOutput(process.stderr);
  const context: CommandContext = {
    stdout,
    stderr,
    env: process.env,
    exit: (code) => {
      process.exitCode = code;
    },
  };
  try {
    await createProgram(context).parseAsync(argv, { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return;
    const error = thrown instanceof CommanderError ? usageError(thrown) : toBridgeError(thrown);
    await stderr.line(errorText(error, wantsJson(argv)));
    process.exitCode = exitCodeOf(error.code);
  }
}

function usageError({ message, code }: CommanderError): BridgeError {
  const text = code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '');
  return new BridgeError('USAGE', `${text}; see hep-bridge --help`);
}

/** Also where the arguments are too wrong to be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.some(
    (word, at) =>
      ['-ojson', '--output=json'].includes(word) ||
      (['-o', '--output'].includes(word) && own[at + 1] === 'json'),
  );
}
