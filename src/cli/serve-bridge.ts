import { checkSettings } from '../config/check-settings.js';
import { type BridgeConfig, resolveConfig } from '../config/config.js';
import { readEnvironment } from '../config/read-environment.js';
import { readSettingsFile } from '../config/read-settings-file.js';
import type { Settings } from '../config/settings.js';
import { BridgeError } from '../errors.js';
import { type Gateway, startGateway } from '../gateway.js';
import { createLogger } from '../telemetry/logger.js';
import type { CommandContext } from './command-context.js';
import type { FormatOptions } from './options.js';
import { reloadProfiles } from './reload-profiles.js';
import { nextStopSignal } from './stop-signal.js';

/** Flags of `serve`, by commander's names. */
export interface ServeOptions extends FormatOptions {
  readonly config?: string;
  readonly [flag: string]: string | boolean | undefined;
}

/** Flags that are settings: commander's name, the flag, and the setting's path. */
const flags: Readonly<Record<string, readonly [flag: string, path: readonly string[]]>> = {
  listen: ['--listen', ['listen']],
  dataDir: ['--data-dir', ['data_dir']],
  natsUrl: ['--nats-url', ['nats', 'url']],
  natsCreds: ['--nats-creds', ['nats', 'creds_file']],
  natsToken: ['--nats-token', ['nats', 'token']],
  natsServer: ['--nats-server', ['nats_server']],
  durability: ['--durability', ['durability']],
  onStop: ['--on-stop', ['on_stop']],
  drainLimit: ['--drain-limit', ['drain_limit']],
  lostAfter: ['--lost-after', ['lost_after']],
  logLevel: ['--log-level', ['log_level']],
  strict: ['--strict', ['strict']],
  reflection: ['--reflection', ['reflection']],
};

/** Runs a gateway until a signal asks for its end. With a file SIGHUP has its profiles read again. */
export async function serve(options: ServeOptions, context: CommandContext): Promise<void> {
  const { config: file } = options;
  const settings = file === undefined ? {} : readSettingsFile(file);
  const resolve = (layer: Settings): BridgeConfig =>
    resolveConfig([readFlags(options), readEnvironment(context.env), layer], context.env);
  const config = resolve(settings);
  const isPretty = context.stderr.isTty && options.output !== 'json';
  const logger = createLogger({ level: config.logLevel, pretty: isPretty });
  const stopAsked = nextStopSignal();
  const starting = new AbortController();
  void stopAsked.then((signal) => starting.abort(new BridgeError('CANCELLED', signal)));
  const ready = startGateway(config, logger, starting.signal);
  if (file !== undefined) {
    const reload = { file, running: settings, resolve, logger };
    process.on('SIGHUP', () => {
      ready.then(
        (running) => reloadProfiles(running, reload),
        () => undefined,
      );
    });
  }
  const gateway = await ready.catch((thrown: unknown) => {
    if (!starting.signal.aborted) throw thrown;
    logger.info({}, 'stopped before it was ready');
    process.exit(0);
  });
  try {
    await context.stdout.line(readyLine(gateway, options.output));
    const signal = await stopAsked;
    logger.info({ signal, on_stop: config.onStop }, 'stopping; once more to stop at once');
    void nextStopSignal().then((again) => {
      logger.warn({ signal: again }, 'stopped at once');
      process.exit(130);
    });
  } finally {
    await gateway.close();
  }
  logger.info({}, 'stopped');
  // Whatever a library still holds open must not keep a stopped bridge alive.
  process.exit(0);
}

function readFlags(options: ServeOptions): Settings {
  const raw: Record<string, unknown> = {};
  const flagAt = new Map<string, string>();
  for (const [name, [flag, path]] of Object.entries(flags)) {
    const value = options[name];
    if (value === undefined) continue;
    const [first = '', second] = path;
    raw[first] = second === undefined ? value : { ...Object(raw[first] ?? {}), [second]: value };
    flagAt.set(path.join('.'), flag);
  }
  return checkSettings(raw, (path) => flagAt.get(path.map(String).join('.')) ?? path.join('.'));
}

function readyLine(gateway: Gateway, output: FormatOptions['output']): string {
  const { address, natsUrl, natsStateFile } = gateway;
  if (output === 'text') return `hep-bridge is ready on ${address}`;
  const file = natsStateFile === undefined ? {} : { nats_token_file: natsStateFile };
  return JSON.stringify({ address, nats_url: natsUrl, ...file });
}
