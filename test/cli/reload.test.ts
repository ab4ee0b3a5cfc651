import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectBridge } from '../../src/client/connect-bridge.js';
import { type ServedBridge, serveBridge } from './cli.js';

/** The line of the log with this message, once it is there. */
async function logged(bridge: ServedBridge, message: RegExp): Promise<Record<string, unknown>> {
  let found: Record<string, unknown> | undefined;
  await expect
    .poll(() => {
      const lines = bridge.log.split('\n').filter((line) => line !== '');
      found = lines.map((line) => JSON.parse(line)).find(({ msg }) => message.test(msg));
      return found;
    })
    .toBeDefined();
  return found ?? {};
}

describe('serve --config', () => {
  it('takes the profiles of the file again at SIGHUP, and keeps the old ones if it is at fault', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'hep-reload-'));
    const file = join(dir, 'bridge.yaml');
    writeFileSync(file, "max_runs: 9\nprofiles: { a: { command: ['true'] } }");
    {
      await using bridge = await serveBridge(['--config', file]);
      await using client = connectBridge(bridge.address);
      const starts = async (profile: string): Promise<void> => {
        await client.startRun({ profile });
      };
      await starts('a');
      await expect(starts('b')).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });

      const probe = `probe: [echo, '{"version":"1.2","hep":"v1"}']`;
      writeFileSync(file, `max_runs: 8\nprofiles: { b: { command: ['true'], ${probe} } }`);
      bridge.signal('SIGHUP');
      expect(await logged(bridge, /^profiles reloaded/)).toMatchObject({
        profiles: ['b'],
        needs_restart: ['max_runs'],
      });
      await starts('b');
      await expect(starts('a')).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
      const answer = await logged(bridge, /answered its probe/);
      expect(answer).toMatchObject({ profile: 'b', version: '1.2', hep: 'v1' });

      writeFileSync(file, 'profiles: { c: { comand: [x] } }');
      bridge.signal('SIGHUP');
      const refusal = await logged(bridge, /^profiles not reloaded.*comand.*did you mean command/);
      expect(refusal).toMatchObject({ code: 'CONFIG_INVALID' });
      await starts('b');
    }
    rmSync(dir, { recursive: true });
  });
});
