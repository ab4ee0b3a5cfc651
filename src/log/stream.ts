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
import { STREAM } from './names.js';
import { EVENT_SUBJECT_ROOT, PARTITION_COUNT } from './subject.js';

/** What an operator may tune. */
export interface StreamOptions {
  readonly replicas: number;
  /** Age at which messages leave; far above the longest run. */
  readonly maxAgeMs: number;
  /** Size of the stream; -1: no limit but the disk. */
  readonly maxBytes: number;
}

export const DEFAULT_STREAM_OPTIONS: StreamOptions = {
  replicas: 1,
  maxAgeMs: 30 * 24 * 3_600_000,
  maxBytes: -1,
};

const STREAM_NOT_FOUND = 10_059;
const NANOS_PER_MS = 1_000_000;
const PARTITIONS_KEY = 'hep-partitions';

/**
 * Makes the stream, or takes the one that is there. What an operator may tune stays as it is; a
 * difference that would break a guarantee is refused with `CONFIG_INVALID`.
 */
export async function ensureStream(
  manager: JetStreamManager,
  options: StreamOptions,
): Promise<StreamInfo> {
  const existing = await findStream(manager);
  if (existing !== undefined) {
    refuseDifferences(existing.config);
    return existing;
  }
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

function refuseDifferences(config: StreamConfig): void {
  const differences: string[] = [];
  const subject = `${EVENT_SUBJECT_ROOT}.>`;
  if (!config.subjects.includes(subject)) differences.push(`subjects lack ${subject}`);
  if (config.retention !== RetentionPolicy.Limits) differences.push('retention is not limits');
  if (config.storage !== StorageType.File) differences.push('storage is not file');
  if (config.discard !== DiscardPolicy.Old) differences.push('discard is not old');
  if (!config.allow_direct) differences.push('allow_direct is off');
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
