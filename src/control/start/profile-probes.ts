import { BridgeError } from '../../errors.js';
import { isSupportedVersion } from '../../hep/header-verdict.js';
import { type ProbeAnswer, probeAgent } from '../../ingest/child/probe-agent.js';
import type { Logger } from '../logger.js';
import { agentEnv } from './agent-command.js';
import { readSecrets } from './agent-secrets.js';
import type { Profile, Profiles } from './profile.js';

/** What the agents of all profiles said of themselves. */
export interface ProfileProbes {
  /**
   * Waits for the profile's agent to say what it speaks, if it is being asked. Throws
   * `AGENT_UNSUPPORTED` if that is another major version of HEP; an agent that did not say is let pass.
   */
  check(profileName: string): Promise<void>;
}

/** Asks all agents that have a probe, at once and in the background; each answer is logged. */
export function probeProfiles(
  profiles: Profiles,
  { dataDir, logger }: { readonly dataDir: string; readonly logger: Logger },
): ProfileProbes {
  const answers = new Map<string, Promise<ProbeAnswer>>();
  for (const [name, profile] of Object.entries(profiles)) {
    if (profile.probe === undefined) continue;
    const answer = probe(profile, profile.probe, dataDir);
    answers.set(name, answer);
    void answer.then((said) => report(logger, name, said));
  }
  return {
    async check(profileName) {
      const said = await answers.get(profileName);
      if (said === undefined || 'why' in said || isSupportedVersion(said.hep)) return;
      throw new BridgeError('AGENT_UNSUPPORTED', unsupportedText(profileName, said));
    },
  };
}

async function probe(
  profile: Profile,
  argv: readonly string[],
  dataDir: string,
): Promise<ProbeAnswer> {
  try {
    const env = { ...agentEnv(profile, process.env), ...(await readSecrets(profile.envFiles)) };
    return await probeAgent({ argv, cwd: profile.cwd ?? dataDir, env });
  } catch (thrown) {
    return { why: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function report(logger: Logger, profile: string, said: ProbeAnswer): void {
  if ('why' in said) {
    logger.warn(
      { profile },
      `the agent of profile ${profile} did not say what it speaks: ${said.why}`,
    );
  } else if (isSupportedVersion(said.hep)) {
    logger.info({ profile, ...said }, `the agent of profile ${profile} speaks HEP ${said.hep}`);
  } else {
    logger.error({ profile, ...said }, unsupportedText(profile, said));
  }
}

function unsupportedText(
  profile: string,
  { version, hep }: Extract<ProbeAnswer, { readonly hep: string }>,
): string {
  const agent = version === '' ? 'its agent' : `its agent (version ${version})`;
  return `profile ${profile}: ${agent} speaks HEP ${JSON.stringify(hep)}, this bridge reads v1; install another agent or bridge, then reload or restart`;
}
