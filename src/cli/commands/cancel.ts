import { toJson } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { v4 as uuidv4 } from 'uuid';
import { type Run, Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import { connectBridge } from '../../client/connect-bridge.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { type FormatOptions, type ServerOptions, withFormat, withServer } from '../options.js';
import { outcomeText } from '../outcome-text.js';

interface CancelOptions extends ServerOptions, FormatOptions {
  readonly reason: string;
  readonly requestId?: string;
  readonly wait?: boolean;
}

const help = `
The agent gets SIGINT; after a grace of 12 s (see examples/hep-bridge.yaml) SIGTERM, after 5 s more its
process group gets SIGKILL. Done means that the request is in the log, with --wait that the run is over.
A run that is over already is no error.
`;

export function addCancel(program: Command, context: CommandContext): void {
  const command = program
    .command('cancel')
    .summary('end a run')
    .description('Asks for the end of a run.')
    .argument('<run>', 'run id')
    .option('--reason <text>', 'why, for those who read the events', '')
    .option('--wait', 'until the run is over')
    .option('--request-id <uuid>', 'the same one again asks only once')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((runId: string, options: CancelOptions) => cancel(runId, options, context));
  withServer(withFormat(command, 'the run, as Protobuf JSON'));
}

async function cancel(
  runId: string,
  options: CancelOptions,
  { stdout }: CommandContext,
): Promise<void> {
  await using client = connectBridge(options.server);
  const { reason, requestId = uuidv4() } = options;
  const response = await client.cancelRun({ runId, requestId, reason });
  let run = response.run;
  if (options.wait === true && run?.state !== Run_State.FINISHED) {
    const events = client.subscribe({
      target: { case: 'runId', value: runId },
      start: { case: 'afterSequence', value: response.requestedSequence },
      skipDeltas: true,
    });
    for await (const { event } of events) if (event.payload.case === 'runFinished') break;
    run = await client.getRun(runId);
  }
  if (run === undefined) return;
  if (options.output === 'text') await stdout.line(runText(run));
  else await stdout.line(JSON.stringify(toJson(RunSchema, run, { useProtoFieldName: true })));
}

function runText(run: Run): string {
  return run.state === Run_State.FINISHED
    ? `run ${run.runId} is over: ${outcomeText(run.outcome, run.outcomeReason)}`
    : `run ${run.runId} was asked to end`;
}
