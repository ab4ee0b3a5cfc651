import type { SubscribeRequest } from '#gen/hep/bridge/v1/event_service_pb.js';
import { StartPosition } from '#gen/hep/bridge/v1/event_service_pb.js';
import { BridgeError, type FieldViolation } from '../errors.js';

/** Where a subscription begins. */
export type Start =
  | { readonly kind: 'beginning' }
  | { readonly kind: 'earliest' }
  | { readonly kind: 'tail' }
  | { readonly kind: 'after'; readonly sequence: number }
  | { readonly kind: 'cursor'; readonly cursor: string };

/** What a subscription reads. */
export type Target =
  | { readonly kind: 'run'; readonly runId: string }
  | {
      readonly kind: 'filter';
      readonly labels: readonly (readonly [string, string])[];
      /** Empty = any. */
      readonly partitionKey: string;
    };

/** A checked `SubscribeRequest`. */
export interface SubscribePlan {
  readonly target: Target;
  readonly start: Start;
  readonly skipDeltas: boolean;
  readonly includeStderr: boolean;
  readonly skipClosedDeltas: boolean;
  readonly heartbeatMs: number;
  /** 0 = do not wait. */
  readonly waitForRunMs: number;
}

const runIdForm = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const labelKeyForm = /^[a-z0-9._-]{1,63}$/;
const maxLabels = 16;
const maxLabelBytes = 256;
const maxKeyBytes = 256;
const defaultHeartbeatMs = 15_000;
const minHeartbeatMs = 1_000;
const maxHeartbeatMs = 300_000;
const maxWaitMs = 3_600_000;

/** Fails with `INVALID_REQUEST` and all the fields that are wrong. */
export function planSubscription(request: SubscribeRequest): SubscribePlan {
  const violations: FieldViolation[] = [];
  const refuse = (field: string, description: string): void => {
    violations.push({ field, description });
  };
  const target = readTarget(request, refuse);
  const start = readStart(request, target.kind, refuse);
  const heartbeatMs = durationMs(request.heartbeatInterval) ?? defaultHeartbeatMs;
  if (!(heartbeatMs >= minHeartbeatMs && heartbeatMs <= maxHeartbeatMs)) {
    refuse('heartbeat_interval', 'must be from 1 s to 300 s');
  }
  const waitForRunMs = durationMs(request.waitForRun) ?? 0;
  if (!(waitForRunMs >= 0 && waitForRunMs <= maxWaitMs)) {
    refuse('wait_for_run', 'must be from 0 s to 3600 s');
  }
  if (target.kind === 'filter') {
    if (waitForRunMs > 0) refuse('wait_for_run', 'is for one run; a filter waits by itself');
    if (request.skipClosedDeltas) refuse('skip_closed_deltas', 'is for one run, not for a filter');
  }
  if (violations.length > 0) {
    const all = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
    throw new BridgeError('INVALID_REQUEST', `SubscribeRequest: ${all}`, { fields: violations });
  }
  return {
    target,
    start,
    skipDeltas: request.skipDeltas,
    includeStderr: request.includeStderr,
    skipClosedDeltas: request.skipClosedDeltas,
    heartbeatMs,
    waitForRunMs,
  };
}

/**
 * Text that is the same for two subscriptions exactly if a cursor of one may go on the other: tenant,
 * target and choices.
 */
export function describePlan(plan: SubscribePlan, tenant: string): string {
  const { target, skipDeltas, includeStderr, skipClosedDeltas } = plan;
  return JSON.stringify([tenant, target, skipDeltas, includeStderr, skipClosedDeltas]);
}

type Refuse = (field: string, description: string) => void;

function readTarget(request: SubscribeRequest, refuse: Refuse): Target {
  switch (request.target.case) {
    case 'runId': {
      const runId = request.target.value;
      if (!runIdForm.test(runId)) refuse('run_id', 'must be a UUIDv7 in lower case');
      return { kind: 'run', runId };
    }
    case 'filter': {
      const { labels, partitionKey } = request.target.value;
      const pairs = Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1));
      if (pairs.length > maxLabels) refuse('filter.labels', `at most ${maxLabels} labels`);
      for (const [key, value] of pairs) {
        const field = `filter.labels[${JSON.stringify(key.slice(0, 64))}]`;
        if (!labelKeyForm.test(key)) refuse(field, 'the key must match [a-z0-9._-]{1,63}');
        if (Buffer.byteLength(value) > maxLabelBytes) {
          refuse(field, `the value must have at most ${maxLabelBytes} bytes`);
        }
      }
      if (Buffer.byteLength(partitionKey) > maxKeyBytes) {
        refuse('filter.partition_key', `must have at most ${maxKeyBytes} bytes`);
      }
      return { kind: 'filter', labels: pairs, partitionKey };
    }
    case undefined:
      refuse('target', 'set run_id or filter');
      return { kind: 'run', runId: '' };
  }
}

function readStart(request: SubscribeRequest, kind: Target['kind'], refuse: Refuse): Start {
  switch (request.start.case) {
    case 'position':
      return readPosition(request.start.value, kind, refuse);
    case 'afterSequence': {
      const sequence = Number(request.start.value);
      if (kind === 'filter') refuse('after_sequence', 'is for one run; a filter takes a cursor');
      if (!Number.isSafeInteger(sequence) || sequence < 0) {
        refuse('after_sequence', 'must be 0 or a sequence of the run');
      }
      return sequence === 0 ? { kind: 'beginning' } : { kind: 'after', sequence };
    }
    case 'cursor':
      if (request.start.value === '') refuse('cursor', 'must not be empty');
      return { kind: 'cursor', cursor: request.start.value };
    case undefined:
      return { kind: kind === 'run' ? 'beginning' : 'tail' };
  }
}

function readPosition(position: StartPosition, kind: Target['kind'], refuse: Refuse): Start {
  switch (position) {
    case StartPosition.UNSPECIFIED:
      return { kind: kind === 'run' ? 'beginning' : 'tail' };
    case StartPosition.BEGINNING:
      return { kind: 'beginning' };
    case StartPosition.EARLIEST:
      return { kind: 'earliest' };
    case StartPosition.TAIL:
      return { kind: 'tail' };
    default:
      refuse('position', `${String(position)} is not a StartPosition`);
      return { kind: 'tail' };
  }
}

function durationMs(duration: { seconds: bigint; nanos: number } | undefined): number | undefined {
  if (duration === undefined) return undefined;
  return Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
}
