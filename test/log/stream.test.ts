import { jetstreamManager, RetentionPolicy, type StreamConfig } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../src/log/open-log.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { startNats } from '../support/nats.js';
import { commitOf, newPrefix, openAnother, stored, writerOf } from './log-fixture.js';

const METADATA = { 'hep-partitions': '64' };
const SUBJECTS = ['hep.event.v1.>'];

describe('the stream', () => {
  it('is made once, and its identity stays over connections and restarts', async () => {
    await using nats = await startNats();
    const first = await openAnother(nats.url);
    const { identity } = await first.log.reader.bounds();
    expect(identity).toMatch(/^[A-Za-z0-9_-]{22}$/);
    await nats.kill9AndRestart();
    const second = await openAnother(nats.url);
    expect((await second.log.reader.bounds()).identity).toBe(identity);
    await first.connection.close();
    await second.connection.close();
  });

  it('is made once by gateways that start together with different options', async () => {
    await using nats = await startNats();
    const connections = await Promise.all([1, 2, 3, 4].map(() => connect({ servers: nats.url })));
    const logs = await Promise.all(
      connections.map((connection, index) =>
        openLog(connection, { ...DEFAULT_STREAM_OPTIONS, maxBytes: 1_000_000 + index }),
      ),
    );
    const bounds = await Promise.all(logs.map(({ reader }) => reader.bounds()));
    expect(new Set(bounds.map(({ identity }) => identity)).size).toBe(1);
    expect(new Set(logs.map(({ cursorKey }) => Buffer.from(cursorKey).toString('hex'))).size).toBe(
      1,
    );
    for (const connection of connections) await connection.close();
  });

  it('stays as an operator tuned it', async () => {
    await using nats = await startNats();
    const { connection } = await openAnother(nats.url);
    const manager = await jetstreamManager(connection);
    await manager.streams.update('HEP', { max_age: 3_600_000_000_000, max_bytes: 123_456_789 });
    const { connection: later, log } = await openAnother(nats.url);
    const { config } = await manager.streams.info('HEP');
    expect(config).toMatchObject({ max_age: 3_600_000_000_000, max_bytes: 123_456_789 });
    const prefix = newPrefix();
    await writerOf(log, prefix).commit(commitOf(1));
    expect(await stored(log, prefix)).toEqual(['event 1']);
    await connection.close();
    await later.close();
  });

  it.each<[string, Partial<StreamConfig>, RegExp]>([
    ['other subjects', { subjects: ['hep.event.v1.default.>'] }, /subjects lack hep\.event\.v1\.>/],
    ['other partitions', { metadata: { 'hep-partitions': '32' } }, /partitions are 32, not 64/],
    ['no direct get', { allow_direct: false }, /allow_direct is off/],
    ['a work queue', { retention: RetentionPolicy.Workqueue }, /retention is not limits/],
    ['a limit a subject', { max_msgs_per_subject: 1 }, /max_msgs_per_subject is set/],
    ['no acknowledgements', { no_ack: true }, /no_ack is on/],
    ['small messages', { max_msg_size: 65_536 }, /max_msg_size is 65536/],
  ])('is refused with %s', async (_, difference, message) => {
    await using nats = await startNats();
    const connection = await connect({ servers: nats.url });
    const manager = await jetstreamManager(connection);
    const good = { name: 'HEP', subjects: SUBJECTS, metadata: METADATA, allow_direct: true };
    await manager.streams.add({ ...good, ...difference });
    const opened = openLog(connection, DEFAULT_STREAM_OPTIONS);
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message),
    });
    await connection.close();
  });

  it('is refused, with the reason, if the server cannot make it', async () => {
    await using nats = await startNats();
    const connection = await connect({ servers: nats.url });
    const opened = openLog(connection, { ...DEFAULT_STREAM_OPTIONS, replicas: 3 });
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('3 replicas'),
    });
    await connection.close();
  });
});

describe('a server', () => {
  it('is refused if its messages are too small', async () => {
    await using nats = await startNats({ config: { max_payload: 262_144 } });
    const connection = await connect({ servers: nats.url });
    await expect(openLog(connection, DEFAULT_STREAM_OPTIONS)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('262144'),
    });
    await connection.close();
  });
});
