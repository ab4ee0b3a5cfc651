import { checkSettings } from './check-settings.js';
import type { Settings } from './settings.js';

type Kind = 'text' | 'boolean';

interface Variable {
  readonly path: readonly string[];
  readonly kind: Kind;
}

/** Environment variables and the settings that they are. */
const variables: Readonly<Record<string, Variable>> = {
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
  HEP_BRIDGE_LOG_LEVEL: { path: ['log_level'], kind: 'text' },
  HEP_BRIDGE_STRICT: { path: ['strict'], kind: 'boolean' },
  HEP_BRIDGE_REFLECTION: { path: ['reflection'], kind: 'boolean' },
};

/** Names of the variables that `readEnvironment` heeds, for help. */
export const environmentNames: readonly string[] = Object.keys(variables);

/** The settings in `env`; an empty variable says nothing. Throws `CONFIG_INVALID`. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Settings {
  const raw: Record<string, unknown> = {};
  const nameAt = new Map<string, string>();
  for (const [name, { path, kind }] of Object.entries(variables)) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    const [first = '', second] = path;
    const decoded = kind === 'boolean' ? asBoolean(value) : value;
    raw[first] =
      second === undefined ? decoded : { ...Object(raw[first] ?? {}), [second]: decoded };
    nameAt.set(path.join('.'), name);
  }
  return checkSettings(raw, (path) => nameAt.get(path.map(String).join('.')) ?? path.join('.'));
}

function asBoolean(value: string): boolean | string {
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  return value;
}
