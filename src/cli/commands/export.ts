import type { Command } from 'commander';
import { connectBridge } from '../../client/connect-bridge.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { createExportStream } from '../export-stream.js';
import { type ServerOptions, withServer } from '../options.js';
import { showProgress, sizeText } from '../progress.js';

const flushBytes = 65_536;

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
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  // On a terminal the lines themselves show how far it is.
  using _progress = stdout.isTty ? undefined : showProgress(stderr, () => sizeText(written));

  function flush(): Promise<boolean> {
    const bytes = Buffer.concat(held);
    held = [];
    heldBytes = 0;
    written += bytes.length;
    return bytes.length === 0 ? Promise.resolve(!stdout.isGone) : stdout.write(bytes);
  }

  // What one response brought is written at once: a write for each line costs more than all else.
  for await (const event of client.subscribe({ target: { case: 'runId', value: runId } })) {
    const bytes = stream.take(event);
    if (bytes.length === 0) continue;
    if (heldBytes === 0) setImmediate(flush);
    held.push(bytes);
    heldBytes += bytes.length;
    if (heldBytes >= flushBytes && !(await flush())) return;
    if (stdout.isGone) return;
  }
  await flush();
  stream.check();
}
