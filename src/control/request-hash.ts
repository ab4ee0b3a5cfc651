import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { RunPoliciesSchema } from '#gen/hep/bridge/v1/policy_pb.js';
import { OutputMode, type StartRunRequest } from '#gen/hep/bridge/v1/run_service_pb.js';

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
    ...laterParts(request),
  ]);
}

/**
 * What came to the contract later; nothing for a request without, so that it hashes as it did when a
 * run of it was started before.
 */
function laterParts({ session, outputMode, policies }: StartRunRequest): readonly unknown[] {
  const encoded =
    policies === undefined
      ? ''
      : Buffer.from(toBinary(RunPoliciesSchema, policies)).toString('hex');
  if (session === '' && outputMode === OutputMode.UNSPECIFIED && encoded === '') return [];
  return [session, outputMode, encoded];
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
