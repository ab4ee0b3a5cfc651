import type { Command } from 'commander';
import { StartPosition } from '#gen/hep/bridge/v1/event_service_pb.js';
import { connectBridge } from '../../client/connect-bridge.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { jsonView } from '../json-view.js';
import {
  type FormatOptions,
  type ServerOptions,
  wholeNumber,
  withFormat,
  withServer,
} from '../options.js';
import { createReconnectNote } from '../reconnect-note.js';
import { showEvents } from '../show-events.js';
import { textView } from '../text-view.js';

interface WatchOptions extends ServerOptions, FormatOptions {
  readonly after?: number;
  readonly live?: boolean;
  readonly stderr?: boolean;
}

const help = `
Shows the run from its beginning, then live, and ends when it is over. Leaving it (Ctrl-C) does the run
no harm; hep-bridge cancel ends a run.

Example:
  hep-bridge watch RUN -o json | jq -r 'select(.turn_done).turn_done.message'
`;

export function addWatch(program: Command, context: CommandContext): void {
  const command = program
    .command('watch')
    .summary('show a run as it happens')
    .description('Shows the events of a run: text as it streams, tools, outcome.')
    .argument('<run>', 'run id')
    .option('--after <sequence>', 'only what comes after this sequence', wholeNumber(0))
    .option('--live', 'only what happens from now on')
    .option('--stderr', "the agent's stderr, too")
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((runId: string, options: WatchOptions) => watch(runId, options, context));
  withServer(withFormat(command, 'one event a line: run_id, sequence, time, payload'));
}

async function watch(
  runId: string,
  options: WatchOptions,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  await using client = connectBridge(options.server);
  const note = createReconnectNote(stderr);
  const start =
    options.after !== undefined
      ? ({ case: 'afterSequence', value: BigInt(options.after) } as const)
      : ({
          case: 'position',
          value: options.live === true ? StartPosition.TAIL : StartPosition.BEGINNING,
        } as const);
  const events = client.subscribe(
    { target: { case: 'runId', value: runId }, start, includeStderr: options.stderr === true },
    {
      onNotice: (notice) => {
        if (notice.kind === 'reconnecting') note.cut(notice.error);
        else note.answered();
      },
    },
  );
  const view = options.output === 'json' ? jsonView(stdout) : textView(stdout, stderr);
  await showEvents(events, view);
}
