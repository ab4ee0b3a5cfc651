import { BridgeError } from '../../errors.js';
import type { Policies } from '../../ingest/policies.js';

/** How much an agent tells, as its `--output` takes it. */
export type Output = 'events' | 'events=full';

/** How to start an agent: what a configuration file names. */
export interface Profile {
  /**
   * Program and arguments. `{prompt_file}` stands for the path of the prompt, `{output}` for the output
   * mode.
   */
  readonly command: readonly string[];
  /** Absolute; undefined = the data directory. */
  readonly cwd: string | undefined;
  /** Names of the bridge's own environment variables that the agent gets. */
  readonly envAllow: readonly string[];
  /** Variables beside those. */
  readonly envSet: Readonly<Record<string, string>>;
  /** Variables whose values stand in files, by name: read at each start and kept nowhere else. */
  readonly envFiles: Readonly<Record<string, string>>;
  readonly prompt: 'file' | 'stdin' | 'none';
  /** Undefined: it takes no session. */
  readonly session: ProfileParameter | undefined;
  /** Where a call does not say. */
  readonly output: Output;
  /** What a caller may set, by name. */
  readonly parameters: Readonly<Record<string, ProfileParameter>>;
  /** Program and arguments that print `{"version":"…","hep":"v1"}`; undefined: it is not asked. */
  readonly probe: readonly string[] | undefined;
  readonly interruptGraceMs: number | undefined;
  readonly terminateGraceMs: number | undefined;
  readonly strict: boolean | undefined;
  readonly policies: Policies;
}

export type Profiles = Readonly<Record<string, Profile>>;

export interface ProfileParameter {
  /** Written before the value; undefined: the value alone. */
  readonly flag: string | undefined;
  /** The whole value must match. */
  readonly pattern: RegExp;
}

/** Throws `PROFILE_NOT_FOUND`. */
export function findProfile(profiles: Profiles, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles);
  const remedy =
    known.length === 0
      ? 'no profile is configured; name a file with --config'
      : `configured: ${known.join(', ')}`;
  throw new BridgeError('PROFILE_NOT_FOUND', `no profile ${JSON.stringify(name)}; ${remedy}`);
}
