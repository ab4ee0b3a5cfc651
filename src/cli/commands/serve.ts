import { type Command, Option } from 'commander';
import { environmentNames } from '../../config/environment-names.js';
import type { CommandContext } from '../command-context.js';
import { exitCodeHelp } from '../exit-code.js';
import { withFormat } from '../options.js';
import type { ServeOptions } from '../serve-bridge.js';

const help = `
Without --nats-url the bridge runs a nats-server of its own on loopback, with its data in the data
directory. The first line on stdout says that the bridge is ready, and where; the log is on stderr.
SIGTERM or Ctrl-C stops it in order, a second one at once.

What --on-stop does with the live runs of agents that the bridge started:
  drain   no new runs; waits for the live ones up to --drain-limit, then cancels what is left
  cancel  the default: the same without waiting
  leave   hands over: agents run on, and the next bridge on the data directory takes them up

Flags stand above the environment, the environment above the file (see examples/hep-bridge.yaml).
Environment: HEP_BRIDGE_CONFIG,
  ${environmentNames.join(',\n  ')}
`;

export function addServe(program: Command, context: CommandContext): void {
  const command = program
    .command('serve')
    .summary('run a bridge')
    .description('Runs a bridge: takes runs in, stores their events, serves readers.')
    .option('--listen <host:port>', 'address of the gRPC server (default: 127.0.0.1:4880)')
    .option('--nats-url <url>', 'an existing NATS with JetStream, e.g. nats://10.0.0.1:4222')
    .option('--nats-creds <file>', 'credentials file for it')
    .option('--nats-token <token>', 'token for it; better in HEP_BRIDGE_NATS_TOKEN')
    .option('--data-dir <dir>', 'for spool and NATS data (default: ~/.local/share/hep-bridge)')
    .addOption(new Option('--config <file>', 'YAML file').env('HEP_BRIDGE_CONFIG'))
    .option('--nats-server <path>', 'program of the private nats-server')
    .option('--durability <kind>', 'of the private server: process | power (default: power)')
    .option('--strict', 'all runs: end at the first line that breaks a rule of HEP')
    .option('--reflection', 'serve gRPC reflection')
    .option('--on-stop <what>', 'live runs at the stop: drain | cancel | leave (default: cancel)')
    .option('--drain-limit <duration>', 'how long drain waits before it cancels (default: 10m)')
    .option(
      '--lost-after <duration>',
      'a gateway silent for so long has lost its runs; the same for all (default: 2m)',
    )
    .option('--log-level <level>', 'debug | info | warn | error | silent (default: info)')
    .addHelpText('after', () => `${help}\n${exitCodeHelp()}`)
    .action(async (options: ServeOptions) => {
      // All of the gateway: no other command waits for it.
      const { serve } = await import('../serve-bridge.js');
      await serve(options, context);
    });
  withFormat(command, 'the ready line is {"address","nats_url","nats_token_file"}');
}
