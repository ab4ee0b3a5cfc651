import { z } from 'zod';
import { BridgeError } from '../errors.js';
import { nearest } from './nearest.js';
import { type Settings, settingsSchema } from './settings.js';

/** Words for a place in a layer: `hep-bridge.yaml: max_runs`, or `--durability`. */
export type NamePlace = (path: readonly PropertyKey[]) => string;

/** One layer, decoded. Throws `CONFIG_INVALID` that names one place at fault and the remedy. */
export function checkSettings(raw: unknown, namePlace: NamePlace): Settings {
  const result = settingsSchema.safeParse(raw ?? {});
  if (result.success) return result.data;
  const { issues } = result.error;
  // A key that is not known is most often the cause of the one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue === undefined) throw new BridgeError('CONFIG_INVALID', namePlace([]));
  const more = issues.length - 1;
  const rest = more > 0 ? ` (and ${more} more)` : '';
  throw new BridgeError('CONFIG_INVALID', `${describe(issue, namePlace)}${rest}`);
}

function describe(issue: z.core.$ZodIssue, namePlace: NamePlace): string {
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    const known = knownKeys(issue.path);
    const near = nearest(key, known);
    const remedy = near === undefined ? `known: ${known.join(', ')}` : `did you mean ${near}?`;
    return `${namePlace([...issue.path, key])}: there is no such key; ${remedy}`;
  }
  const message = issue.code === 'invalid_value' ? oneOf(issue.values) : issue.message;
  return `${namePlace(issue.path)}: ${message.replace(/^Invalid input: /, '')}`;
}

function oneOf(values: readonly unknown[]): string {
  return `must be one of: ${values.map(String).join(', ')}`;
}

/** Keys that the schema knows at `path`. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  let schema: unknown = settingsSchema;
  for (const key of path) {
    schema = unwrap(schema);
    if (schema instanceof z.ZodObject) schema = schema.shape[String(key)];
    else if (schema instanceof z.ZodRecord) schema = schema.valueType;
  }
  schema = unwrap(schema);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
}
