import { createHash } from 'node:crypto';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  StoreCompression,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { BridgeError } from '../errors.js';
import { asUnavailable } from './as-unavailable.js';
import { STREAM } from './names.js';
import { EVENT_SUBJECT_ROOT, PARTITION_COUNT } from './subject.js';

/** What an operator may tune. */
export interface StreamOptions {
  readonly replicas: number;
  /** Age at which messages leave; far above the longest run. */
  readonly maxAgeMs: number;
  /** Size of the stream; -1: no limit but the disk. */
  readonly maxBytes: number;
  /** Body of a message, at most; the server must take it. Default 512 KiB. */
  readonly maxMessageBytes?: number;
}

export const DEFAULT_STREAM_OPTIONS: StreamOptions = {
  replicas: 1,
  maxAgeMs: 30 * 24 * 3_600_000,
  maxBytes: -1,
};

/** For headers, with room to spare. */
const HEADER_BYTES = 16_384;
const STREAM_NOT_FOUND = 10_059;
const NANOS_PER_MS = 1_000_000;
const PARTITIONS_KEY = 'hep-partitions';

/**
 * Makes the stream, or takes the one that is there. What an operator may tune (age, size, replicas,
 * placement) stays as it is; a difference that would break a guarantee is refused with
 * `CONFIG_INVALID`, as is what the server does not grant. `LOG_UNAVAILABLE` if it does not answer.
 */
export async function ensureStream(
  manager: JetStreamManager,
  options: StreamOptions,
): Promise<StreamInfo> {
  return (await adoptStream(manager, options)) ?? (await addStream(manager, options));
}

async function adoptStream(
  manager: JetStreamManager,
  options: StreamOptions,
): Promise<StreamInfo | undefined> {
  const existing = await asUnavailable(`reading stream ${STREAM}`, () => findStream(manager));
  if (existing === undefined) return undefined;
  refuseDifferences(existing.config, payloadBytes(options));
  return existing;
}

async function addStream(manager: JetStreamManager, options: StreamOptions): Promise<StreamInfo> {
  try {
    return await manager.streams.add({
      name: STREAM,
      description: 'HEP events, one subject a run and class',
      subjects: [`${EVENT_SUBJECT_ROOT}.>`],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      num_replicas: options.replicas,
      max_age: options.maxAgeMs * NANOS_PER_MS,
      max_bytes: options.maxBytes,
      // No message is told from another by its id: the chain does that.
      duplicate_window: 100 * NANOS_PER_MS,
      allow_direct: true,
      deny_delete: true,
      deny_purge: true,
      compression: StoreCompression.S2,
      metadata: { [PARTITIONS_KEY]: String(PARTITION_COUNT) },
    });
  } catch (thrown) {
    // Another gateway, with other options, was quicker.
    const made = await adoptStream(manager, options);
    if (made !== undefined) return made;
    if (!(thrown instanceof JetStreamApiError)) {
      return await asUnavailable(`making stream ${STREAM}`, () => Promise.reject(thrown));
    }
    throw new BridgeError(
      'CONFIG_INVALID',
      `NATS does not make stream ${STREAM} (${options.replicas} replicas, ` +
        `${options.maxBytes} bytes): ${thrown.message} (${thrown.code})`,
      { cause: thrown },
    );
  }
}

/** Refuses a server that does not take the log's messages, with `CONFIG_INVALID`. */
export function checkMaxPayload(maxPayloadBytes: number, options: StreamOptions): void {
  const needed = payloadBytes(options);
  if (maxPayloadBytes >= needed) return;
  throw new BridgeError(
    'CONFIG_INVALID',
    `the NATS server takes messages of ${maxPayloadBytes} bytes, the log needs ${needed}; raise ` +
      'max_payload in its configuration (its default is 1 MiB), or lower limits.max_message_bytes',
  );
}

function payloadBytes({ maxMessageBytes = 524_288 }: StreamOptions): number {
  return maxMessageBytes + HEADER_BYTES;
}

/** Undefined if there is none. */
export async function findStream(manager: JetStreamManager): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(STREAM);
  } catch (thrown) {
    if (thrown instanceof JetStreamApiError && thrown.code === STREAM_NOT_FOUND) return undefined;
    throw thrown;
  }
}

/** Changes when a stream is deleted and made again: 22 characters, base64url. */
export function streamIdentity({ created, config }: StreamInfo): string {
  return createHash('sha256').update(`${config.name}\n${created}`).digest('base64url').slice(0, 22);
}

function refuseDifferences(config: StreamConfig, payload: number): void {
  const differences: string[] = [];
  const subject = `${EVENT_SUBJECT_ROOT}.>`;
  if (!config.subjects.includes(subject)) differences.push(`subjects lack ${subject}`);
  if (config.retention !== RetentionPolicy.Limits) differences.push('retention is not limits');
  if (config.storage !== StorageType.File) differences.push('storage is not file');
  if (config.discard !== DiscardPolicy.Old) differences.push('discard is not old');
  if (!config.allow_direct) differences.push('allow_direct is off');
  // These take single messages out of a run, or never say that one was stored.
  if (config.max_msgs_per_subject > 0) differences.push('max_msgs_per_subject is set');
  if (config.no_ack) differences.push('no_ack is on');
  if (config.sealed) differences.push('it is sealed');
  if (config.mirror !== undefined) differences.push('it is a mirror');
  if (config.subject_transform !== undefined) differences.push('it transforms subjects');
  if (config.max_msg_size > 0 && config.max_msg_size < payload) {
    differences.push(`max_msg_size is ${config.max_msg_size}, less than ${payload}`);
  }
  const partitions = config.metadata?.[PARTITIONS_KEY];
  if (partitions !== String(PARTITION_COUNT)) {
    differences.push(`partitions are ${partitions ?? 'not set'}, not ${PARTITION_COUNT}`);
  }
  if (differences.length === 0) return;
  throw new BridgeError(
    'CONFIG_INVALID',
    `stream ${STREAM} cannot be the log: ${differences.join('; ')}. ` +
      'Change it with the NATS CLI, or let the bridge make it',
  );
}
