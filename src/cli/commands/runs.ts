import { toJson } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Command, Option } from 'commander';
import { type Run, Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import { connectBridge } from '../../client/connect-bridge.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import {
  type FormatOptions,
  labelOption,
  moment,
  type ServerOptions,
  wholeNumber,
  withFormat,
  withServer,
} from '../options.js';
import { runsTable } from '../runs-table.js';

interface RunsOptions extends ServerOptions, FormatOptions {
  readonly state?: string;
  readonly label: Readonly<Record<string, string>>;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
  readonly pageToken?: string;
}

const maxPage = 1_000;
const states: Readonly<Record<string, Run_State>> = {
  starting: Run_State.STARTING,
  running: Run_State.RUNNING,
  finished: Run_State.FINISHED,
};

const help = `
Newest first. What is beyond --limit is told on stderr, with the --page-token that goes on. AGE is the
time since a run was begun, LAST EVENT how long a live run has been silent, OWNER the data directory whose
gateway writes it (its first 8 characters). WHY is cut to the line; -o json has all of it.

Examples:
  hep-bridge runs --state running
  hep-bridge runs --label team=a --since 2h -o json | jq -r .run_id
`;

export function addRuns(program: Command, context: CommandContext): void {
  const command = program
    .command('runs')
    .summary('list runs')
    .description('Lists runs with their state and outcome.')
    .addOption(
      new Option('--state <state>', 'only runs in this state').choices(Object.keys(states)),
    )
    .addOption(labelOption('only runs with this label; repeatable'))
    .option('--since <when>', 'only runs begun since: 30m, 2h, 7d ago, or an ISO time', moment)
    .option('--until <when>', 'only runs begun before', moment)
    .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
    .option('--page-token <token>', 'go on where an earlier list ended')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((options: RunsOptions) => list(options, context));
  withServer(withFormat(command, 'one run a line, as Protobuf JSON'));
}

async function list(options: RunsOptions, context: CommandContext): Promise<void> {
  await using client = connectBridge(options.server);
  const { since, until } = options;
  const filter = {
    labels: options.label,
    states: options.state === undefined ? [] : [states[options.state] ?? Run_State.UNSPECIFIED],
    ...(since === undefined ? {} : { createdFrom: timestampFromDate(since) }),
    ...(until === undefined ? {} : { createdUntil: timestampFromDate(until) }),
  };
  const runs: Run[] = [];
  let pageToken = options.pageToken ?? '';
  do {
    const pageSize = Math.min(maxPage, options.limit - runs.length);
    const page = await client.listRuns({ ...filter, pageSize, pageToken });
    runs.push(...page.runs);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && runs.length < options.limit);
  await print(runs, options.output, context);
  if (pageToken !== '') {
    await context.stderr.line(`hep-bridge: there are more; go on with --page-token ${pageToken}`);
  }
}

async function print(
  runs: readonly Run[],
  output: FormatOptions['output'],
  { stdout }: CommandContext,
): Promise<void> {
  if (output === 'text') {
    await stdout.line(runsTable(runs, Date.now(), stdout.columns));
    return;
  }
  for (const run of runs) {
    const json = toJson(RunSchema, run, { useProtoFieldName: true });
    if (!(await stdout.line(JSON.stringify(json)))) return;
  }
}
