import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type Run, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import type { Policies } from '../ingest/policies.js';

/** What the `runs` bucket knows of a run: a projection of the log, never the truth. */
export interface RunRecord {
  /** Written on as the run goes; `updateRecord` stores it. */
  readonly run: Run;
  readonly tenantToken: string;
  /** `hep.event.v1.<tenant>.<partition>.<run>`. */
  readonly subjectPrefix: string;
  /** SHA-256 in hex of the request that made the run. */
  readonly requestHash: string;
  readonly actor: string;
  /** End the run at the first thing that breaks a rule. */
  readonly strict: boolean;
  readonly policies: Policies;
}

/** JSON text; enums by name, so that a person can read the bucket. */
export function encodeRunRecord(record: RunRecord): string {
  return JSON.stringify({ ...record, run: toJson(RunSchema, record.run) });
}

/** Undefined for anything but what `encodeRunRecord` wrote; fields of a later version are ignored. */
export function decodeRunRecord(text: string): RunRecord | undefined {
  try {
    const { run, ...rest } = JSON.parse(text) as Omit<RunRecord, 'run'> & { run: JsonValue };
    if (typeof rest.subjectPrefix !== 'string' || typeof rest.tenantToken !== 'string') {
      return undefined;
    }
    const decoded = fromJson(RunSchema, run, { ignoreUnknownFields: true });
    return { ...rest, run: decoded };
  } catch {
    return undefined;
  }
}
