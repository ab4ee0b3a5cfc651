import { createHash } from 'node:crypto';
import { toJsonString } from '@bufbuild/protobuf';
import { RunPoliciesSchema } from '#gen/hep/bridge/v1/policy_pb.js';
import type { StartRunRequest } from '#gen/hep/bridge/v1/run_service_pb.js';

/** SHA-256 in hex of all that a start asks for, but its run id: the same request, the same hash. */
export function startRequestHash(request: StartRunRequest): string {
  return hashOf([
    'start',
    request.profile,
    request.prompt,
    sorted(request.labels),
    request.partitionKey,
    sorted(request.parameters),
    request.deadline === undefined
      ? null
      : `${request.deadline.seconds}.${String(request.deadline.nanos).padStart(9, '0')}`,
    request.session,
    request.outputMode,
    request.policies === undefined ? null : toJsonString(RunPoliciesSchema, request.policies),
  ]);
}

/** The same for a run whose bytes come through Ingest; labels do not count when it is reopened. */
export function ingestRequestHash(): string {
  return hashOf(['ingest']);
}

function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function sorted(map: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
