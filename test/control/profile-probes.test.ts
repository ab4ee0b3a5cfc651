import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Logger } from '../../src/control/logger.js';
import type { Profile } from '../../src/control/start/profile.js';
import { createProfileProbes, type ProfileProbes } from '../../src/control/start/profile-probes.js';
import { profileOf } from '../support/gateway.js';

interface Line {
  readonly level: string;
  readonly facts: object;
  readonly message: string;
}

function openProbes(limitMs = 20_000): { probes: ProfileProbes; lines: readonly Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (facts: object, message: string) => {
    lines.push({ level, facts, message });
  };
  const logger: Logger = { info: at('info'), warn: at('warn'), error: at('error') };
  const { signal } = new AbortController();
  return { probes: createProfileProbes({ dataDir: tmpdir(), logger, signal, limitMs }), lines };
}

function probed(script: string, options: Partial<Profile> = {}): Profile {
  return profileOf(['true'], { probe: ['sh', '-c', script], ...options });
}

const says = (hep: string): string => `echo '{"version":"1.0.626","hep":"${hep}"}'`;

describe('the probe of a profile', () => {
  it('lets an agent of HEP v1 be started, and logs its versions', async () => {
    const { probes, lines } = openProbes();
    const fa = probed(says('v1.3'));
    probes.ask({ fa });
    await probes.check('fa', fa);
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'info',
      facts: { profile: 'fa', version: '1.0.626', hep: 'v1.3' },
    });
  });

  it('refuses an agent of another HEP, and names version and remedy', async () => {
    const { probes, lines } = openProbes();
    const fa = probed(says('v2'));
    probes.ask({ fa });
    const check = probes.check('fa', fa);
    await expect(check).rejects.toMatchObject({ code: 'AGENT_UNSUPPORTED' });
    await expect(check).rejects.toThrow(/"fa", version 1\.0\.626, speaks HEP v2.*install.*SIGHUP/);
    expect(lines[0]).toMatchObject({ level: 'warn', facts: { hep: 'v2' } });
    // The answer is of that profile, and stays.
    await expect(probes.check('fa', fa)).rejects.toThrow();
    await probes.check('fa', probed(says('v2')));
  });

  it.each([
    ['garbage', probed('echo 1.0.626'), /JSON object/],
    ['no end', probed('sleep 60'), /within 200 ms/],
    ['a secret that is not there', probed(says('v2'), { envFiles: { K: '/no/key' } }), /\/no\/key/],
  ])('that gets %s refuses nothing and warns', async (_, fa, why) => {
    const { probes, lines } = openProbes(200);
    probes.ask({ fa });
    await probes.check('fa', fa);
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'warn', facts: { profile: 'fa' } });
    expect(lines[0]?.message).toMatch(why);
  });

  it('runs with the environment, the secrets and the folder of the profile', async () => {
    const { probes, lines } = openProbes();
    const script = 'printf \'{"version":"%s %s","hep":"v1"}\' "$A" "$PWD"';
    const fa = probed(script, { cwd: '/usr', envSet: { A: 'a' } });
    probes.ask({ fa });
    await expect.poll(() => lines).toHaveLength(1);
    expect(lines[0]?.facts).toMatchObject({ version: 'a /usr' });
  });
});
