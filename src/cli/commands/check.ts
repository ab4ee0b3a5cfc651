import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import { BridgeError } from '../../errors.js';
import { createStreamChecker, type Finding, type StreamCheck } from '../check-stream.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { type FormatOptions, withFormat } from '../options.js';
import { oneLine } from '../printable.js';
import { showProgress, sizeText } from '../progress.js';

const exitCodeOfVerdict: Readonly<Record<StreamCheck['verdict'], number>> = {
  valid: 0,
  findings: 1,
  refused: 2,
};

const help = `
Needs no bridge. Says what is wrong, by line number, as the bridge would see it. Notes (blank lines,
unknown types, text with U+FFFD) are valid HEP or are carried as they are; they do not count.

Exit code: 0 valid, 1 findings, 2 refused (the first frame is no hep_header of version 1).

Example:
  fa --output events "Hello" | hep-bridge check -
`;

export function addCheck(program: Command, context: CommandContext): void {
  const command = program
    .command('check')
    .summary('check a stream without a bridge')
    .description('Checks a HEP stream in a file, or from stdin.')
    .argument('<file>', 'the file; - for stdin')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((file: string, options: FormatOptions) => check(file, options, context));
  withFormat(command, 'one finding a line, then {"verdict","lines","frames","errors"}');
}

async function check(file: string, options: FormatOptions, context: CommandContext): Promise<void> {
  const { stdout, stderr } = context;
  let found: Finding[] = [];
  let readBytes = 0;
  const checker = createStreamChecker((finding) => found.push(finding));
  using progress = showProgress(stderr, () => `${sizeText(readBytes)} checked`);

  async function printFound(): Promise<boolean> {
    const text = found.map((finding) => findingText(file, finding, options.output)).join('');
    found = [];
    return text === '' ? !stdout.isGone : stdout.write(text);
  }

  const input = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 262_144 });
  try {
    for await (const chunk of input) {
      readBytes += chunk.length;
      checker.push(chunk);
      if (!(await printFound())) break;
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BridgeError('USAGE', `cannot read ${file}: ${why}`, { cause });
  }
  const result = checker.end();
  await printFound();
  progress.stop();
  await stdout.line(options.output === 'json' ? JSON.stringify(result) : resultText(file, result));
  context.exit(exitCodeOfVerdict[result.verdict]);
}

function findingText(file: string, finding: Finding, output: FormatOptions['output']): string {
  if (output === 'json') return `${JSON.stringify(finding)}\n`;
  const { line, severity, rule, field, detail } = finding;
  const where = field === '' ? '' : `${field}: `;
  return `${file}:${line}: ${severity}: ${rule}: ${where}${oneLine(detail, 300)}\n`;
}

function resultText(file: string, { verdict, lines, frames, errors }: StreamCheck): string {
  const counts = `${lines} lines, ${frames} frames`;
  switch (verdict) {
    case 'valid':
      return `${file}: valid; ${counts}`;
    case 'findings':
      return `${file}: ${errors} findings; ${counts}`;
    case 'refused':
      return `${file}: refused: not a HEP v1 stream; ${counts}`;
  }
}
