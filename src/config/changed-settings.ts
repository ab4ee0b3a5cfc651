import { isDeepStrictEqual } from 'node:util';
import type { Settings } from './settings.js';

/** Names of the settings, profiles apart, that differ between two layers, as the file spells them. */
export function changedSettings(before: Settings, after: Settings): readonly string[] {
  const [old, fresh] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...fresh.keys()]);
  names.delete('profiles');
  return [...names].filter((name) => !isDeepStrictEqual(old.get(name), fresh.get(name))).sort();
}
