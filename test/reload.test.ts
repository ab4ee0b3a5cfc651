import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { expect, it } from 'vitest';
import { connectBridge } from '../src/client/connect-bridge.js';
import { eventsOf, temporaryDir } from './support/gateway.js';
import { serveBridge } from './support/served-bridge.js';

it('SIGHUP takes the profiles of the file anew; a bad file changes nothing', async () => {
  const dataDir = temporaryDir();
  const bridge = await serveBridge({ dataDir });
  await using client = connectBridge(bridge.address);
  try {
    const start = async (profile: string): Promise<string> => {
      const runId = uuidv7();
      await client.startRun({ runId, profile });
      return runId;
    };
    const reloaded = async (config: string, said: RegExp): Promise<void> => {
      writeFileSync(join(dataDir, 'config.yaml'), config);
      bridge.signal('SIGHUP');
      await expect.poll(() => bridge.log()).toMatch(said);
    };
    await expect(start('late')).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
    await reloaded('profiles: { late: { command: ["true"] } }\n', /profiles are reloaded/);
    const runId = await start('late');
    await expect(start('sh')).rejects.toMatchObject({ code: 'PROFILE_NOT_FOUND' });
    await reloaded(
      'profiles: { late: { comand: ["true"] } }\n',
      /stay as they were.*did you mean command/,
    );
    await eventsOf(client, await start('late'));
    await eventsOf(client, runId);
  } finally {
    await bridge.kill('SIGTERM');
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 30_000);
