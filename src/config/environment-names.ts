type Kind = 'text' | 'boolean';

interface EnvironmentVariable {
  readonly path: readonly string[];
  readonly kind: Kind;
}

/** Environment variables and the settings that they are. */
export const environmentVariables: Readonly<Record<string, EnvironmentVariable>> = {
  HEP_BRIDGE_LISTEN: { path: ['listen'], kind: 'text' },
  HEP_BRIDGE_DATA_DIR: { path: ['data_dir'], kind: 'text' },
  HEP_BRIDGE_NATS_URL: { path: ['nats', 'url'], kind: 'text' },
  HEP_BRIDGE_NATS_CREDS: { path: ['nats', 'creds_file'], kind: 'text' },
  HEP_BRIDGE_NATS_TOKEN: { path: ['nats', 'token'], kind: 'text' },
  HEP_BRIDGE_NATS_USER: { path: ['nats', 'user'], kind: 'text' },
  HEP_BRIDGE_NATS_PASSWORD: { path: ['nats', 'password'], kind: 'text' },
  HEP_BRIDGE_NATS_SERVER: { path: ['nats_server'], kind: 'text' },
  HEP_BRIDGE_DURABILITY: { path: ['durability'], kind: 'text' },
  HEP_BRIDGE_ON_STOP: { path: ['on_stop'], kind: 'text' },
  HEP_BRIDGE_DRAIN_LIMIT: { path: ['drain_limit'], kind: 'text' },
  HEP_BRIDGE_LOST_AFTER: { path: ['lost_after'], kind: 'text' },
  HEP_BRIDGE_LOG_LEVEL: { path: ['log_level'], kind: 'text' },
  HEP_BRIDGE_STRICT: { path: ['strict'], kind: 'boolean' },
  HEP_BRIDGE_REFLECTION: { path: ['reflection'], kind: 'boolean' },
};

/** Names of the variables that `readEnvironment` heeds, for help. */
export const environmentNames: readonly string[] = Object.keys(environmentVariables);
