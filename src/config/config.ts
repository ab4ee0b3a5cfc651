import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Profile } from '../control/start/profile.js';
import { BridgeError } from '../errors.js';
import type { GatewayOptions } from '../gateway.js';
import { DEFAULT_RUN_LIMITS } from '../ingest/run.js';
import type { NatsAccess } from '../log/connect.js';
import { DEFAULT_STREAM_OPTIONS } from '../log/stream.js';
import type { ProfileSettings, Settings } from './settings.js';

/** Severities of the log, from the most talkative; `silent` = none. */
export type LogLevel = NonNullable<Settings['log_level']>;

/** What `serve` runs with: every setting decided. */
export interface BridgeConfig extends GatewayOptions {
  readonly logLevel: LogLevel;
}

export const DEFAULT_LISTEN = '127.0.0.1:4880';

/** What an agent gets of the bridge's environment where its profile does not say. */
export const DEFAULT_ENV_ALLOW: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
];

/** Names that no shell, flag parser or file system takes for something else. */
const DEFAULT_SESSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Decides every setting: the first layer that has it wins, then the default. Throws `CONFIG_INVALID`. */
export function resolveConfig(
  layers: readonly Settings[],
  env: Readonly<Record<string, string | undefined>>,
): BridgeConfig {
  function pick<T>(read: (layer: Settings) => T | undefined): T | undefined {
    for (const layer of layers) {
      const value = read(layer);
      if (value !== undefined) return value;
    }
    return undefined;
  }
  const config: BridgeConfig = {
    listen: pick((s) => s.listen) ?? DEFAULT_LISTEN,
    dataDir: resolve(pick((s) => s.data_dir) ?? defaultDataDir(env)),
    nats: natsAccess(pick),
    natsServer: pick((s) => s.nats_server),
    durability: pick((s) => s.durability) ?? 'power',
    stream: {
      replicas: pick((s) => s.stream?.replicas) ?? DEFAULT_STREAM_OPTIONS.replicas,
      maxAgeMs: pick((s) => s.stream?.max_age) ?? DEFAULT_STREAM_OPTIONS.maxAgeMs,
      maxBytes: pick((s) => s.stream?.max_bytes) ?? DEFAULT_STREAM_OPTIONS.maxBytes,
    },
    limits: {
      maxLineBytes: pick((s) => s.limits?.max_line_bytes) ?? DEFAULT_RUN_LIMITS.maxLineBytes,
      maxMessageBytes:
        pick((s) => s.limits?.max_message_bytes) ?? DEFAULT_RUN_LIMITS.maxMessageBytes,
      maxWaitingBytes:
        pick((s) => s.limits?.max_waiting_bytes) ?? DEFAULT_RUN_LIMITS.maxWaitingBytes,
    },
    maxRuns: pick((s) => s.max_runs) ?? 1_000,
    maxStartsPerSecond: pick((s) => s.max_starts_per_second) ?? 100,
    reserveBytes: pick((s) => s.reserve_bytes) ?? 256 * 1_048_576,
    spoolQuotaBytes: pick((s) => s.spool_quota_bytes) ?? 8 * 1_073_741_824,
    reconnectWindowMs: pick((s) => s.reconnect_window) ?? 60_000,
    interruptGraceMs: pick((s) => s.interrupt_grace) ?? 12_000,
    terminateGraceMs: pick((s) => s.terminate_grace) ?? 5_000,
    strict: pick((s) => s.strict) ?? false,
    reflection: pick((s) => s.reflection) ?? false,
    lostAfterMs: pick((s) => s.lost_after) ?? 120_000,
    onStop: pick((s) => s.on_stop) ?? 'cancel',
    drainLimitMs: pick((s) => s.drain_limit) ?? 600_000,
    logLevel: pick((s) => s.log_level) ?? 'info',
    profiles: mapValues(pick((s) => s.profiles) ?? {}, toProfile),
  };
  return config;
}

function defaultDataDir(env: Readonly<Record<string, string | undefined>>): string {
  const dataHome = env.XDG_DATA_HOME;
  const isSet = dataHome !== undefined && dataHome !== '';
  return join(isSet ? dataHome : join(homedir(), '.local', 'share'), 'hep-bridge');
}

function natsAccess(
  pick: <T>(read: (layer: Settings) => T | undefined) => T | undefined,
): NatsAccess | undefined {
  const url = pick((s) => s.nats?.url);
  const access = {
    credsFile: pick((s) => s.nats?.creds_file),
    token: pick((s) => s.nats?.token),
    user: pick((s) => s.nats?.user),
    password: pick((s) => s.nats?.password),
    tls: pick((s) => s.nats?.tls),
  };
  if (url !== undefined) {
    const tls = access.tls === undefined ? undefined : defined(access.tls);
    return { url, ...defined({ ...access, tls }) };
  }
  if (Object.values(access).every((value) => value === undefined)) return undefined;
  throw new BridgeError(
    'CONFIG_INVALID',
    'credentials for NATS but no server: give --nats-url (nats.url in the file), or leave them out',
  );
}

function toProfile(settings: ProfileSettings): Profile {
  const { command, cwd, prompt, strict } = settings;
  const takesFile = command.some((word) => word.includes('{prompt_file}'));
  return {
    command,
    cwd,
    envAllow: settings.env_allow ?? DEFAULT_ENV_ALLOW,
    envSet: settings.env_set ?? {},
    envFiles: settings.env_files ?? {},
    prompt: prompt ?? (takesFile ? 'file' : 'none'),
    session: settings.session && {
      flag: settings.session.flag ?? '--session',
      pattern: settings.session.pattern ?? DEFAULT_SESSION_PATTERN,
    },
    output: settings.output ?? 'events',
    probe: settings.probe,
    parameters: mapValues(settings.parameters ?? {}, ({ flag, pattern }) => ({ flag, pattern })),
    interruptGraceMs: settings.interrupt_grace,
    terminateGraceMs: settings.terminate_grace,
    strict,
    policies: defined({
      deadlineMs: settings.deadline,
      stallMs: settings.stall,
      headerWithinMs: settings.header_within,
      maxTokens: settings.max_tokens,
      maxCost: settings.max_cost,
      maxEvents: settings.max_events,
      maxStdoutBytes: settings.max_stdout_bytes,
    }),
  };
}

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** Without the keys that are undefined. */
function defined<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
