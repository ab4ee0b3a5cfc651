import { checkSettings } from './check-settings.js';
import { environmentVariables } from './environment-names.js';
import type { Settings } from './settings.js';

/** The settings in `env`; an empty variable says nothing. Throws `CONFIG_INVALID`. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Settings {
  const raw: Record<string, unknown> = {};
  const nameAt = new Map<string, string>();
  for (const [name, { path, kind }] of Object.entries(environmentVariables)) {
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
