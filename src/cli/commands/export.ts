import type { Command } from 'commander';
import { connectBridge } from '../../client/connect-bridge.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { createExportStream } from '../export-stream.js';
import { type ServerOptions, withServer } from '../options.js';
import { showProgress, sizeText } from '../progress.js';

const help = `
What comes out is byte for byte what the agent wrote to stdout, blank lines and a missing last line end
included. A run that is not over is followed to its end. If the run does not hold the whole stream (it
was refused, or has a line over the limit) the rest is written and the exit code is 65.
`;

export function addExport(program: Command, context: CommandContext): void {
  const command = program
    .command('export')
    .summary("a run's original lines")
    .description('Writes the exact stream of a run to stdout.')
    .argument('<run>', 'run id')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((runId: string, options: ServerOptions) => exportRun(runId, options, context));
  withServer(command);
}

async function exportRun(
  runId: string,
  options: ServerOptions,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  await using client = connectBridge(options.server);
  const stream = createExportStream();
  let written = 0;
  // On a terminal the lines themselves show how far it is.
  using _progress = stdout.isTty ? undefined : showProgress(stderr, () => sizeText(written));
  for await (const event of client.subscribe({ target: { case: 'runId', value: runId } })) {
    const bytes = stream.take(event);
    if (bytes.length === 0) continue;
    written += bytes.length;
    if (!(await stdout.write(bytes))) return;
  }
  stream.check();
}
