import { BridgeError, toBridgeError } from '../../errors.js';
import { isSupportedVersion } from '../../hep/header-verdict.js';
import { type AgentProbe, probeAgent } from '../../ingest/child/probe-agent.js';
import type { Logger } from '../logger.js';
import { agentEnv } from './agent-command.js';
import { readEnvFiles } from './env-files.js';
import type { Profile, Profiles } from './profile.js';

const PROBE_LIMIT_MS = 10_000;

export interface ProfileProbesOptions {
  /** Where an agent without a folder of its own runs; absolute. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** Ends the probes under way. */
  readonly signal: AbortSignal;
  /** For tests. */
  readonly limitMs?: number;
}

/** What the agents of profiles say of themselves. */
export interface ProfileProbes {
  /** Asks the agents of those profiles that have a probe, in the background; the log has the answers. */
  ask(profiles: Profiles): void;
  /**
   * Waits if the profile's agent is being asked. Throws `AGENT_UNSUPPORTED` if it answered that it
   * speaks another major version of HEP; one that gave no answer may be as good as any.
   */
  check(name: string, profile: Profile): Promise<void>;
}

export function createProfileProbes(options: ProfileProbesOptions): ProfileProbes {
  const { logger, signal } = options;
  const answers = new WeakMap<Profile, Promise<AgentProbe>>();

  async function tell(name: string, answer: Promise<AgentProbe>): Promise<void> {
    const probe = await answer;
    if (signal.aborted) return;
    if ('failed' in probe) {
      logger.warn({ profile: name }, `the probe of the agent failed: ${probe.failed}`);
    } else if (isSupportedVersion(probe.hep)) {
      logger.info({ profile: name, ...probe }, 'the agent answered its probe');
    } else {
      logger.warn({ profile: name, ...probe }, 'starts are refused: the agent speaks another HEP');
    }
  }

  return {
    ask(profiles) {
      for (const [name, profile] of Object.entries(profiles)) {
        if (profile.probe === undefined) continue;
        const answer = ask(name, profile, profile.probe, options);
        answers.set(profile, answer);
        void tell(name, answer);
      }
    },
    async check(name, profile) {
      const probe = await answers.get(profile);
      signal.throwIfAborted();
      if (probe === undefined || 'failed' in probe || isSupportedVersion(probe.hep)) return;
      throw new BridgeError(
        'AGENT_UNSUPPORTED',
        `the agent of profile ${JSON.stringify(name)}, version ${probe.version}, speaks HEP ` +
          `${probe.hep}, this bridge reads v1; install an agent that speaks v1, then send the bridge ` +
          'SIGHUP or restart it',
        { metadata: { version: probe.version, hep: probe.hep } },
      );
    },
  };
}

/** Never rejects. */
async function ask(
  name: string,
  profile: Profile,
  argv: readonly string[],
  { dataDir, signal, limitMs = PROBE_LIMIT_MS }: ProfileProbesOptions,
): Promise<AgentProbe> {
  try {
    const secrets = await readEnvFiles(name, profile.envFiles);
    const env = { ...agentEnv(profile, process.env), ...secrets };
    return await probeAgent({ argv, cwd: profile.cwd ?? dataDir, env, limitMs, signal });
  } catch (thrown) {
    return { failed: toBridgeError(thrown).message };
  }
}
