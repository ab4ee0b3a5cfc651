import type { Command } from 'commander';
import { v4 as uuidv4 } from 'uuid';
import type { IngestCancel } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import type { BridgeClient } from '../../client/bridge-client.js';
import { connectBridge } from '../../client/connect-bridge.js';
import { toBridgeError } from '../../errors.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp, exitCodeOfRun } from '../exit-code.js';
import { type FedRun, feedRun } from '../feed-run.js';
import { jsonView } from '../json-view.js';
import { startLocalAgent } from '../local-agent.js';
import {
  type FormatOptions,
  type RunOptions,
  withFormat,
  withRunOptions,
  withServer,
} from '../options.js';
import { showEvents } from '../show-events.js';
import { type AgentStop, AT_ONCE, createAgentStop, gracesOf, IN_ORDER } from '../stop-agent.js';
import { nextStopSignal } from '../stop-signal.js';
import { textView } from '../text-view.js';

interface RunCommandOptions extends RunOptions, FormatOptions {}

const help = `
The agent runs here, as a child of this command, and its events are stored by the bridge and shown as
hep-bridge watch shows them. Others may watch or cancel the run by its id, which stands on stderr first.
Ctrl-C cancels the run in order: SIGINT, a grace, SIGTERM, a grace, SIGKILL. A second one sends SIGTERM at
once, and SIGKILL 1 s later. If the bridge goes away for a while the agent's output waits here.

Example:
  hep-bridge run --label team=a -- fa --output events "Hello"
`;

export function addRun(program: Command, context: CommandContext): void {
  const command = program
    .command('run')
    .summary('run an agent here and store its events')
    .description('Runs an agent here, stores its events, and shows them.')
    .argument('<command...>', 'the agent and its arguments, behind --')
    .passThroughOptions()
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action((argv: string[], options: RunCommandOptions) => run(argv, options, context));
  withServer(withFormat(withRunOptions(command), 'one event a line, as watch -o json'));
}

async function run(
  argv: readonly string[],
  options: RunCommandOptions,
  context: CommandContext,
): Promise<void> {
  await using client = connectBridge(options.server);
  // From the start: a run that is open must get its agent's end, or it waits and is LOST.
  const stopAsked = nextStopSignal();
  let stop: AgentStop | undefined;
  let early: IngestCancel | undefined;
  const fed = await feedRun(client, options, context.stderr, (cancel) => {
    if (stop === undefined) early = cancel;
    else stop.end(cancel.requestId, gracesOf(cancel));
  });
  const { runId, ingest } = fed;
  await context.stderr.line(`run ${runId}`);
  const agent = startLocalAgent(argv, ingest);
  const agentStop = createAgentStop(agent, ingest);
  stop = agentStop;
  if (early !== undefined) agentStop.end(early.requestId, gracesOf(early));
  void heedStopSignals(stopAsked, client, runId, agentStop, context);
  const shown = show(client, fed, options.output, context);
  // An agent whose events nobody takes any more has no reason to go on.
  ingest.finished.catch(() => agentStop.end(uuidv4(), IN_ORDER));
  const exit = await agent.ended;
  await agent.drained;
  ingest.exit(exit);
  const finished: Run = await ingest.finished;
  await shown;
  context.exit(exitCodeOfRun(finished.outcome));
}

async function show(
  client: BridgeClient,
  { runId, ingest }: FedRun,
  output: FormatOptions['output'],
  { stdout, stderr }: CommandContext,
): Promise<void> {
  const view = output === 'json' ? jsonView(stdout) : textView(stdout, stderr);
  const lost = new AbortController();
  ingest.finished.catch((error) => lost.abort(error));
  try {
    const events = client.subscribe(
      { target: { case: 'runId', value: runId }, includeStderr: true },
      { signal: lost.signal },
    );
    await showEvents(events, view);
  } catch (thrown) {
    // The run goes on; only its picture is lost.
    if (lost.signal.aborted) return;
    await stderr.line(`hep-bridge: cannot show the run: ${toBridgeError(thrown).message}`);
  }
}

/** First Ctrl-C: cancel through the bridge, or here if that fails; the second: at once, from here. */
async function heedStopSignals(
  stopAsked: Promise<NodeJS.Signals>,
  client: BridgeClient,
  runId: string,
  stop: AgentStop,
  { stderr }: CommandContext,
): Promise<void> {
  const signal = await stopAsked;
  const again = nextStopSignal();
  void stderr.line('hep-bridge: cancelling the run; once more to end the agent at once');
  const requestId = uuidv4();
  client
    .cancelRun({ runId, requestId, reason: `${signal} to hep-bridge run` }, { timeoutMs: 5_000 })
    .catch(() => stop.end(requestId, IN_ORDER));
  for (let next = again; ; next = nextStopSignal()) {
    await next;
    stop.end(requestId, AT_ONCE);
  }
}
