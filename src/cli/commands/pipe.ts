import type { Readable } from 'node:stream';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { IngestExitSchema } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { connectBridge } from '../../client/connect-bridge.js';
import type { Ingest } from '../../client/ingest-with-resume.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { feedRun } from '../feed-run.js';
import { type RunOptions, wholeNumber, withRunOptions, withServer } from '../options.js';
import { outcomeText } from '../outcome-text.js';
import { showProgress, sizeText } from '../progress.js';
import { nextStopSignal } from '../stop-signal.js';

interface PipeOptions extends RunOptions {
  readonly exitCode?: number;
}

const help = `
Prints the run id, and nothing else, on stdout as soon as the bridge has the run, and ends when all of
it is committed: with 0, whatever the run's outcome (see hep-bridge runs). A cancel of the run stops the
reading, so that a writer gets SIGPIPE. Ctrl-C waits for the end of the input, a second one does not.

Examples:
  RUN=$(hep-bridge pipe --exit-code 0 < stream.jsonl)
  fa --output events "Hello" | hep-bridge pipe --label team=a
`;

export function addPipe(program: Command, context: CommandContext): void {
  const command = program
    .command('pipe')
    .summary('store a stream from stdin as a run')
    .description('Reads a HEP stream from stdin and stores it as a run.')
    .option('--exit-code <n>', 'what the agent exited with, for the outcome', wholeNumber(0, 255))
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((options: PipeOptions) => pipe(options, context));
  withServer(withRunOptions(command));
}

async function pipe(options: PipeOptions, { stdout, stderr }: CommandContext): Promise<void> {
  await using client = connectBridge(options.server);
  const input: Readable = process.stdin;
  const stop = createStop(input);
  const { runId, ingest } = await feedRun(client, options, stderr, ({ requestId }) => {
    // Closing the pipe is what this command can do to the agent.
    ingest.signalled({ requestId, signal: 'SIGPIPE' });
    stop.now('SIGPIPE');
  });
  await stdout.line(runId);
  if (process.stdin.isTTY) await stderr.line('hep-bridge: reading the terminal; Ctrl-D ends it');
  void nextStopSignal().then(async () => {
    void stderr.line('hep-bridge: waiting for the end of the input; Ctrl-C again to stop here');
    stop.now(await nextStopSignal());
  });
  void ingest.finished.then(
    () => stop.now(''),
    () => stop.now(''),
  );
  using progress = showProgress(stderr, () => {
    const { given, committed, events } = ingest.progress;
    return `read ${sizeText(given)}, committed ${sizeText(committed)}, ${events} events`;
  });
  await readAll(input, ingest, stop);
  ingest.exit(exitOf(stop.signal, options.exitCode));
  const run = await ingest.finished;
  progress.stop();
  if (stderr.isTty) {
    await stderr.line(`run ${runId}: ${outcomeText(run.outcome, run.outcomeReason)}`);
  }
}

/** Ends the reading before the input's end. */
interface Stop {
  /** What ended it: a signal's name, or empty if nothing did or the run was over. */
  readonly signal: string;
  readonly isStopped: boolean;
  now(signal: string): void;
}

function createStop(input: Readable): Stop {
  let signal = '';
  let isStopped = false;
  return {
    get signal() {
      return signal;
    },
    get isStopped() {
      return isStopped;
    },
    now(why) {
      if (isStopped) return;
      isStopped = true;
      signal = why;
      input.destroy();
    },
  };
}

async function readAll(input: Readable, ingest: Ingest, stop: Stop): Promise<void> {
  try {
    for await (const chunk of input) {
      if (stop.isStopped) break;
      await ingest.stdout(chunk);
    }
  } catch (thrown) {
    // A destroyed input says so by an error.
    if (!stop.isStopped) throw thrown;
  }
}

function exitOf(
  signal: string,
  exitCode: number | undefined,
): MessageInitShape<typeof IngestExitSchema> {
  if (signal !== '') return { signal };
  return exitCode === undefined ? {} : { exitCode };
}
