import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectNats, withoutSecrets } from '../../src/log/connect.js';
import { startNats } from '../support/nats.js';

/** A port of loopback on which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('connecting', () => {
  it('names the URL without its secrets, and the remedy, if nobody answers', async () => {
    const port = await freePort();
    const failed = connectNats({ url: `nats://me:s3cret@127.0.0.1:${port}` }, 'test');
    await expect(failed).rejects.toMatchObject({
      code: 'NATS_UNREACHABLE',
      message: expect.stringMatching(
        new RegExp(`nats://\\*\\*\\*@127\\.0\\.0\\.1:${port}.*--nats-url`),
      ),
    });
    await expect(failed).rejects.not.toThrow(/s3cret/);
  });

  it('takes user and password, or a token, from the URL', async () => {
    const users = [{ user: 'me', password: '12:34/@' }];
    await using byUser = await startNats({ config: { authorization: { users } } });
    const url = `nats://me:${encodeURIComponent('12:34/@')}@127.0.0.1:${byUser.port}`;
    await (await connectNats({ url }, 'test')).close();
    await expect(connectNats({ url: byUser.url }, 'test')).rejects.toMatchObject({
      code: 'NATS_UNREACHABLE',
    });
    await using byToken = await startNats({ config: { authorization: { token: 't0ken' } } });
    await (await connectNats({ url: `nats://t0ken@127.0.0.1:${byToken.port}` }, 'test')).close();
    await (await connectNats({ url: byToken.url, token: 't0ken' }, 'test')).close();
  });

  it('goes on trying while another server stands on the port that refuses it', async () => {
    await using own = await startNats({ config: { authorization: { token: 'a' } } });
    const connection = await connectNats({ url: own.url, token: 'a' }, 'test');
    await own.kill9();
    {
      const config = { authorization: { token: 'b' } };
      await using stranger = await startNats({ config, port: own.port });
      let refusals = 0;
      for await (const { type } of connection.status()) {
        if (type === 'error') refusals += 1;
        if (refusals === 4) break;
      }
      expect(stranger.port).toBe(own.port);
    }
    const back = (async () => {
      for await (const { type } of connection.status()) if (type === 'reconnect') return;
    })();
    await own.restart();
    await back;
    await connection.flush();
    expect(connection.isClosed()).toBe(false);
    await connection.close();
  });
});

describe('a URL without its secrets', () => {
  it.each([
    ['nats://u:p@h:1', 'nats://***@h:1'],
    ['u:p@h:1', '***@h:1'],
    ['tls://u:p@ss@h', 'tls://***@h'],
    ['nats://token@h', 'nats://***@h'],
    ['nats://h:4222', 'nats://h:4222'],
    ['h', 'h'],
  ])('%s is shown as %s', (url, shown) => {
    expect(withoutSecrets(url)).toBe(shown);
  });
});
