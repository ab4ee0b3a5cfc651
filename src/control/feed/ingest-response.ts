import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type IngestResponse, IngestResponseSchema } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Run as RunMessage } from '#gen/hep/bridge/v1/run_pb.js';
import type { SourceOffsets } from '../../ingest/batch-queue.js';
import type { Graces } from '../cancel/graces.js';

/** Bytes per chunk that a client may send. */
export const MAX_CHUNK_BYTES = 262_144;

export function openedMessage(
  { reconnectWindowMs }: { readonly reconnectWindowMs: number },
  offsets: SourceOffsets,
): IngestResponse {
  return create(IngestResponseSchema, {
    message: {
      case: 'opened',
      value: {
        stdoutOffset: BigInt(offsets.stdout),
        stderrOffset: BigInt(offsets.stderr),
        maxChunkBytes: MAX_CHUNK_BYTES,
        reconnectWindow: durationFromMs(reconnectWindowMs),
      },
    },
  });
}

export function ackMessage(sequence: number, offsets: SourceOffsets): IngestResponse {
  return create(IngestResponseSchema, {
    message: {
      case: 'ack',
      value: {
        stdoutOffset: BigInt(offsets.stdout),
        stderrOffset: BigInt(offsets.stderr),
        sequence: BigInt(sequence),
      },
    },
  });
}

export function cancelMessage(requestId: string, graces: Graces): IngestResponse {
  return create(IngestResponseSchema, {
    message: {
      case: 'cancel',
      value: {
        requestId,
        interruptGrace: durationFromMs(graces.interruptGraceMs),
        terminateGrace: durationFromMs(graces.terminateGraceMs),
      },
    },
  });
}

export function finishedMessage(run: RunMessage): IngestResponse {
  return create(IngestResponseSchema, { message: { case: 'finished', value: { run } } });
}
