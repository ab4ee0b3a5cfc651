import { fromBinary } from '@bufbuild/protobuf';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type CancelRunResponse,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import type { RunRecord } from '../../log/run-record.js';
import type { CancelOrder } from '../cancel-order.js';
import { ownerCancelSubject, REASON_HEADER } from './subjects.js';

/** The way to the gateways that own other runs. */
export interface OwnerLink {
  /** Brings a stored cancel to the run's owner; undefined if nobody takes it there, or not in time. */
  cancel(record: RunRecord, order: CancelOrder): Promise<CancelRunResponse | undefined>;
}

/** What goes to the owner, in JSON. */
export interface OwnerCancel {
  readonly runId: string;
  readonly order: CancelOrder;
}

/** The owner commits the request before it answers. */
const TIMEOUT_MS = 4_000;

export function createOwnerLink(connection: NatsConnection): OwnerLink {
  return {
    async cancel({ run }, order) {
      const body: OwnerCancel = { runId: run.runId, order };
      try {
        const answer = await connection.request(
          ownerCancelSubject(run.ownerId),
          JSON.stringify(body),
          { timeout: TIMEOUT_MS },
        );
        if (answer.headers?.has(REASON_HEADER) === true) return undefined;
        return fromBinary(CancelRunResponseSchema, answer.data);
      } catch {
        // No responder, no answer in time, or none that can be read: all say that nobody took it.
        return undefined;
      }
    },
  };
}
