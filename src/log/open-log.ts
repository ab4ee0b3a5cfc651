import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type KV, Kvm, type KvOptions } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import { createAckInbox } from './ack-inbox.js';
import { asUnavailable } from './as-unavailable.js';
import { type CancelStore, createCancelStore } from './cancel-store.js';
import { createLogReader } from './create-log-reader.js';
import { sharedCursorKey } from './cursor-key.js';
import { readLastMessage } from './last-message.js';
import type { LogAccess } from './log-access.js';
import type { LogReader } from './log-reader.js';
import { CANCELS_BUCKET, OWNERS_BUCKET, RUNS_BUCKET } from './names.js';
import { createOwnerStore, type OwnerStore } from './owner-store.js';
import { createRunIndex, type RunIndex } from './run-index.js';
import { createRunWriter, type RunWriter, type RunWriterOptions } from './run-writer.js';
import { checkMaxPayload, ensureStream, type StreamOptions } from './stream.js';

/** The log with all that stands beside it, on one connection. */
export interface Log {
  readonly reader: LogReader;
  readonly index: RunIndex;
  readonly cancels: CancelStore;
  readonly owners: OwnerStore;
  /** See `sharedCursorKey`. */
  readonly cursorKey: Uint8Array;
  writer(options: Omit<RunWriterOptions, 'inbox' | 'lastMessage'>): RunWriter;
}

/** Makes the stream and the buckets if they are not there; the caller owns the connection. */
export async function openLog(connection: NatsConnection, options: StreamOptions): Promise<Log> {
  const manager = await jetstreamManager(connection).catch((thrown: unknown) => {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BridgeError(
      'NATS_UNREACHABLE',
      `NATS answers, but JetStream does not: ${text}; enable it on the server and for the account`,
      { cause: thrown },
    );
  });
  const client = jetstream(connection);
  checkMaxPayload(connection.info?.max_payload ?? Number.POSITIVE_INFINITY, options);
  await ensureStream(manager, options);
  const kvm = new Kvm(client);
  const { replicas } = options;
  const ttl = options.maxAgeMs;
  const bucket = (name: string, kept: Partial<KvOptions>): Promise<KV> =>
    asUnavailable(`making bucket ${name}`, () =>
      kvm.create(name, { replicas, allow_direct: true, ...kept }),
    );
  const runs = await bucket(RUNS_BUCKET, { ttl });
  const cancels = await bucket(CANCELS_BUCKET, { ttl });
  const owners = await bucket(OWNERS_BUCKET, {});
  const access: LogAccess = { connection, manager, client };
  const inbox = createAckInbox(connection);
  return {
    reader: createLogReader(access),
    index: createRunIndex(access, runs),
    cancels: createCancelStore(access, cancels),
    owners: createOwnerStore(access, owners),
    cursorKey: await sharedCursorKey(owners),
    writer: (writerOptions) =>
      createRunWriter({
        ...writerOptions,
        inbox,
        lastMessage: (filter) => readLastMessage(manager, filter),
      }),
  };
}
