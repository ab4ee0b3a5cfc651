import { Command } from 'commander';
import { BRIDGE_VERSION } from '../version.js';
import type { CommandContext } from './command-context.js';
import { addCancel } from './commands/cancel.js';
import { addCheck } from './commands/check.js';
import { addExport } from './commands/export.js';
import { addPipe } from './commands/pipe.js';
import { addRun } from './commands/run.js';
import { addRuns } from './commands/runs.js';
import { addServe } from './commands/serve.js';
import { addWatch } from './commands/watch.js';
import { exitCodeHelp } from './exit-code.js';

const picture = `
Agents that speak HEP print one JSON line a frame. The bridge stores them as typed events in NATS
JetStream and serves them over gRPC to as many readers as there are:

  agent ──lines──▶ hep-bridge run | pipe ──▶ hep-bridge serve ──▶ watch, export, Go clients
                                                    │
                                                    └──▶ NATS JetStream ──▶ workers

First steps:
  hep-bridge serve                               start a bridge (in a terminal of its own)
  hep-bridge run -- fa --output events "Hello"   run an agent here, watch it, keep its events
  hep-bridge runs                                what ran, and how it ended
  hep-bridge export RUN > stream.jsonl           a run's original lines, byte for byte
`;

/** The whole command line. Help goes to stdout; errors are thrown as `CommanderError` or `BridgeError`. */
export function createProgram(context: CommandContext): Command {
  const program = new Command('hep-bridge')
    .description('Carries the event stream of agent CLIs (HEP v1) to typed readers.')
    .version(BRIDGE_VERSION, '-V, --version')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      // Thrown as an error and reported once, by main.
      writeErr: () => undefined,
    })
    .exitOverride()
    .addHelpText('after', `${picture}\n${exitCodeHelp()}`);
  for (const add of [
    addServe,
    addRun,
    addPipe,
    addWatch,
    addRuns,
    addCancel,
    addExport,
    addCheck,
  ]) {
    add(program, context);
  }
  return program;
}
