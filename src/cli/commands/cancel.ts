import { toJson } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { v4 as uuidv4 } from 'uuid';
import { type Run, Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import type { RunEvent } from '../../client/bridge-client.js';
import { connectBridge } from '../../client/connect-bridge.js';
import { cancelStage } from '../cancel-stage.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { followCancel } from '../follow-cancel.js';
import {
  duration,
  type FormatOptions,
  type ServerOptions,
  withFormat,
  withServer,
} from '../options.js';
import { outcomeText } from '../outcome-text.js';
import type { Output } from '../output.js';
import { oneLine } from '../printable.js';
import { createReconnectNote } from '../reconnect-note.js';

interface CancelOptions extends ServerOptions, FormatOptions {
  readonly reason: string;
  readonly requestId?: string;
  readonly force?: boolean;
  /** In milliseconds, as all durations here. */
  readonly interruptGrace?: number;
  readonly terminateGrace?: number;
  /** True: without a limit. */
  readonly wait?: number | true;
}

const help = `
The agent gets SIGINT, after a grace SIGTERM, and after another its process group SIGKILL. The graces are
12 s and 5 s unless the bridge or the run's profile has others; of several requests the shortest hold.
--force hurries a cancel that is under way, too.

Done means that the request is in the log; with --wait that the run is over, or that the time is. On the
way --wait tells the stages on stderr, each with the time since the request. A run that is over already
is no error.

Examples:
  hep-bridge cancel RUN --wait
  hep-bridge cancel RUN --force --terminate-grace 1s --wait 30s --reason "tab closed"
`;

export function addCancel(program: Command, context: CommandContext): void {
  const command = program
    .command('cancel')
    .summary('end a run')
    .description('Asks for the end of a run.')
    .argument('<run>', 'run id')
    .option('--reason <text>', 'why, for those who read the events', '')
    .option('--force', 'SIGTERM right after SIGINT')
    .option('--interrupt-grace <duration>', 'from SIGINT to SIGTERM', duration('1h'))
    .option('--terminate-grace <duration>', 'from SIGTERM to SIGKILL', duration('1h'))
    .option(
      '--wait [duration]',
      'until the run is over, at most so long',
      duration('24h', '; without one put --wait behind the run'),
    )
    .option('--request-id <uuid>', 'the same one again asks only once')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((runId: string, options: CancelOptions) => cancel(runId, options, context));
  withServer(withFormat(command, 'the run, as Protobuf JSON'));
}

async function cancel(
  runId: string,
  options: CancelOptions,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  await using client = connectBridge(options.server);
  const { reason, requestId = uuidv4(), force = false, wait, output } = options;
  const graces = gracesOf(options);
  const asked = await client.cancelRun({ runId, requestId, reason, force, ...graces });
  const { requestedSequence } = asked;
  let { run } = asked;
  if (wait !== undefined && requestedSequence > 0n) {
    run = await followCancel(client, {
      runId,
      requestedSequence,
      waitMs: wait === true ? undefined : wait,
      note: createReconnectNote(stderr),
      onEvent: output === 'text' ? stageTeller(stderr) : async () => undefined,
    });
  }
  if (run === undefined) return;
  if (output === 'json') {
    await stdout.line(JSON.stringify(toJson(RunSchema, run, { useProtoFieldName: true })));
  } else if (requestedSequence === 0n) {
    await stdout.line(`run ${runId} was over before: ${endText(run)}`);
  } else {
    await stdout.line(runText(run, wait !== undefined));
  }
}

function gracesOf({ interruptGrace, terminateGrace }: CancelOptions) {
  return {
    ...(interruptGrace === undefined ? {} : { interruptGrace: durationFromMs(interruptGrace) }),
    ...(terminateGrace === undefined ? {} : { terminateGrace: durationFromMs(terminateGrace) }),
  };
}

/** Tells each stage with the time since the first event, which is the request. */
function stageTeller(stderr: Output): (event: RunEvent) => Promise<unknown> {
  let requestedUs: number | undefined;
  return async ({ event, timeUs }) => {
    requestedUs ??= timeUs;
    const stage = cancelStage(event);
    if (stage === undefined) return;
    const seconds = Math.max(0, timeUs - requestedUs) / 1_000_000;
    await stderr.line(`${`+${seconds.toFixed(1)}s`.padStart(8)}  ${stage}`);
  };
}

function runText(run: Run, waited: boolean): string {
  if (run.state === Run_State.FINISHED) return `run ${run.runId} is over: ${endText(run)}`;
  return `run ${run.runId} was asked to end${waited ? ', and is still running' : ''}`;
}

function endText({ outcome, outcomeReason, detail }: Run): string {
  const why = detail === '' ? '' : `: ${oneLine(detail, 300)}`;
  return `${outcomeText(outcome, outcomeReason)}${why}`;
}
