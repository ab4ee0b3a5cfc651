import { fromBinary } from '@bufbuild/protobuf';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type CancelRunResponse,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import type { RunRecord } from '../../log/run-record.js';
import type { CancelOrder } from '../cancel/cancel-order.js';
import { ownerCancelSubject, ownerReleaseSubject, REASON_HEADER } from './subjects.js';

/** The way to the gateways that own other runs. */
export interface OwnerLink {
  /** Brings a stored cancel to the run's owner; undefined if nobody takes it there, or not in time. */
  cancel(record: RunRecord, order: CancelOrder): Promise<CancelRunResponse | undefined>;
  /**
   * Tells the owner of before that a client's run, whose record says so already, is taken over; returns
   * when it has let go, or nobody is there. The chain would tell it with its next commit.
   */
  release(ownerId: string, record: RunRecord): Promise<void>;
}

/** What goes to the owner, in JSON. */
export interface OwnerCancel {
  readonly runId: string;
  readonly order: CancelOrder;
}

/** What goes to the owner of before, in JSON. */
export interface OwnerRelease {
  readonly runId: string;
  readonly tenantToken: string;
}

/** The owner commits the request before it answers. */
const TIMEOUT_MS = 4_000;
const RELEASE_TIMEOUT_MS = 1_000;

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
    async release(ownerId, { run, tenantToken }) {
      const body: OwnerRelease = { runId: run.runId, tenantToken };
      const subject = ownerReleaseSubject(ownerId);
      await connection
        .request(subject, JSON.stringify(body), { timeout: RELEASE_TIMEOUT_MS })
        .catch(() => undefined);
    },
  };
}
