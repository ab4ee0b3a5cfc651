import { z } from 'zod';
import { DURATION_FORM, parseDuration, parseSize, SIZE_FORM } from './quantity.js';

const text = z.string().min(1, 'must not be empty');
const count = z.int().min(1);

const duration = z.string().transform((value, context) => {
  const ms = parseDuration(value);
  if (ms !== undefined) return ms;
  context.addIssue(`${JSON.stringify(value)} is not ${DURATION_FORM}`);
  return z.NEVER;
});

const size = z.union([z.string(), z.number()]).transform((value, context) => {
  const bytes = parseSize(String(value));
  if (bytes !== undefined) return bytes;
  context.addIssue(`${JSON.stringify(value)} is not ${SIZE_FORM}`);
  return z.NEVER;
});

/** The whole value must match, whatever anchors the pattern has. */
const pattern = text.transform((value, context) => {
  try {
    return new RegExp(`^(?:${value})$`, 'u');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.addIssue(`is no regular expression: ${why}`);
    return z.NEVER;
  }
});

const argv = z.array(z.string()).min(1, 'needs at least the program');

const variableName = z.string().regex(/^[^=\0]+$/, 'is no name of a variable');

const profileKeys = z.strictObject({
  command: argv,
  cwd: text.optional(),
  env_allow: z.array(text).optional(),
  env_set: z.record(z.string(), z.string()).optional(),
  env_files: z.record(variableName, text).optional(),
  prompt: z.enum(['file', 'stdin', 'none']).optional(),
  session: z.strictObject({ flag: text.optional(), pattern: pattern.optional() }).optional(),
  output: z.enum(['events', 'events=full']).optional(),
  probe: argv.optional(),
  parameters: z.record(z.string(), z.strictObject({ flag: text.optional(), pattern })).optional(),
  interrupt_grace: duration.optional(),
  terminate_grace: duration.optional(),
  strict: z.boolean().optional(),
  deadline: duration.optional(),
  stall: duration.optional(),
  header_within: duration.optional(),
  max_tokens: count.optional(),
  max_cost: z.number().positive().optional(),
  max_events: count.optional(),
  max_stdout_bytes: size.optional(),
});

const profile = profileKeys.check(({ value, issues }) => {
  const { command, output, env_set = {}, env_files = {} } = value;
  if (output !== undefined && !command.some((word) => word.includes('{output}'))) {
    const message = 'the command has no {output} to put it in';
    issues.push({ code: 'custom', input: output, path: ['output'], message });
  }
  for (const [name, path] of Object.entries(env_files)) {
    if (!Object.hasOwn(env_set, name)) continue;
    const message = 'stands in env_set, too; keep one of them';
    issues.push({ code: 'custom', input: path, path: ['env_files', name], message });
  }
});

const listen = text.regex(/^\S+:\d{1,5}$/, 'is not host:port, e.g. 127.0.0.1:4880');

/** All that can be configured, as the YAML file spells it; environment and flags fill the same shape. */
export const settingsSchema = z.strictObject({
  listen: listen.optional(),
  data_dir: text.optional(),
  nats: z
    .strictObject({
      url: text.optional(),
      creds_file: text.optional(),
      token: text.optional(),
      user: text.optional(),
      password: text.optional(),
      tls: z
        .strictObject({ ca: text.optional(), cert: text.optional(), key: text.optional() })
        .optional(),
    })
    .optional(),
  nats_server: text.optional(),
  durability: z.enum(['process', 'power']).optional(),
  stream: z
    .strictObject({
      replicas: z.int().min(1).max(5).optional(),
      max_age: duration.optional(),
      max_bytes: size.optional(),
    })
    .optional(),
  limits: z
    .strictObject({
      max_line_bytes: size.optional(),
      max_message_bytes: size.optional(),
      max_waiting_bytes: size.optional(),
    })
    .optional(),
  max_runs: count.optional(),
  max_starts_per_second: count.optional(),
  reserve_bytes: size.optional(),
  spool_quota_bytes: size.optional(),
  reconnect_window: duration.optional(),
  interrupt_grace: duration.optional(),
  terminate_grace: duration.optional(),
  strict: z.boolean().optional(),
  reflection: z.boolean().optional(),
  lost_after: duration.optional(),
  on_stop: z.enum(['drain', 'cancel', 'leave']).optional(),
  drain_limit: duration.optional(),
  log_level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).optional(),
  profiles: z.record(z.string(), profile).optional(),
});

/** One layer of settings: the file, the environment or the flags. What it leaves open is undefined. */
export type Settings = z.infer<typeof settingsSchema>;

/** One profile of a layer. */
export type ProfileSettings = z.infer<typeof profile>;
