import { BridgeError, type FieldViolation } from '../../errors.js';
import type { Policies } from '../../ingest/policies.js';

/** How to start an agent: what a configuration file names. */
export interface Profile {
  /** Program and arguments; `{prompt_file}` stands for the path of the prompt. */
  readonly command: readonly string[];
  /** Absolute; undefined = the data directory. */
  readonly cwd: string | undefined;
  /** Names of the bridge's own environment variables that the agent gets. */
  readonly envAllow: readonly string[];
  /** Variables beside those. */
  readonly envSet: Readonly<Record<string, string>>;
  readonly prompt: 'file' | 'stdin' | 'none';
  /** What a caller may set, by name. */
  readonly parameters: Readonly<Record<string, ProfileParameter>>;
  readonly interruptGraceMs: number | undefined;
  readonly terminateGraceMs: number | undefined;
  readonly strict: boolean | undefined;
  readonly policies: Policies;
}

export interface ProfileParameter {
  /** Written before the value; undefined: the value alone. */
  readonly flag: string | undefined;
  /** The whole value must match. */
  readonly pattern: RegExp;
}

const PROMPT_PLACEHOLDER = '{prompt_file}';

export function findProfile(profiles: Readonly<Record<string, Profile>>, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles);
  const remedy =
    known.length === 0
      ? 'no profile is configured; name a file with --config'
      : `configured: ${known.join(', ')}`;
  throw new BridgeError('PROFILE_NOT_FOUND', `no profile ${JSON.stringify(name)}; ${remedy}`);
}

export function checkParameters(
  profile: Profile,
  parameters: Readonly<Record<string, string>>,
): readonly FieldViolation[] {
  const found: FieldViolation[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    const field = `parameters[${JSON.stringify(name)}]`;
    const parameter = Object.hasOwn(profile.parameters, name)
      ? profile.parameters[name]
      : undefined;
    if (parameter === undefined) {
      const known = Object.keys(profile.parameters).join(', ') || 'none';
      found.push({ field, description: `the profile has no such parameter; it has: ${known}` });
    } else if (!parameter.pattern.test(value)) {
      found.push({ field, description: `the value must match ${parameter.pattern.source}` });
    }
  }
  return found;
}

/** The agent's argv: the profile's command, then the parameters in the profile's order. */
export function agentArgv(
  profile: Profile,
  parameters: Readonly<Record<string, string>>,
  promptFile: string,
): readonly string[] {
  const argv = profile.command.map((word) => word.replaceAll(PROMPT_PLACEHOLDER, promptFile));
  for (const [name, { flag }] of Object.entries(profile.parameters)) {
    const value = parameters[name];
    if (value === undefined) continue;
    if (flag !== undefined) argv.push(flag);
    argv.push(value);
  }
  return argv;
}

/** The agent's whole environment: what the profile lets through of `own`, then what it sets. */
export function agentEnv(
  profile: Profile,
  own: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const name of profile.envAllow) {
    const value = own[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...profile.envSet };
}
