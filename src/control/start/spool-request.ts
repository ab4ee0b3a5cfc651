import type { StartChildOptions } from '../../ingest/child/child-source.js';
import { decodeRunRecord, encodeRunRecord, type RunRecord } from '../../log/run-record.js';
import type { Graces } from '../cancel/graces.js';

/** What the spool keeps of a start, so that a restarted bridge takes the run up as it was meant. */
export interface SpoolRequest {
  readonly record: RunRecord;
  readonly graces: Graces;
  readonly spawn: AgentSpawn;
}

/** How to spawn the agent; the values of its secrets are read from their files then. */
export interface AgentSpawn extends Pick<StartChildOptions, 'argv' | 'cwd' | 'env' | 'stdin'> {
  /** Paths by variable. */
  readonly envFiles: Readonly<Record<string, string>>;
}

/** As `createSpool` takes it: JSON values only. */
export function encodeSpoolRequest(request: SpoolRequest): unknown {
  return { ...request, record: encodeRunRecord(request.record) };
}

/** From a spool that this bridge's data directory holds; undefined if it is none of ours. */
export function decodeSpoolRequest(value: unknown): SpoolRequest | undefined {
  if (typeof value !== 'object' || value === null || !('record' in value)) return undefined;
  const { record, spawn, ...rest } = value as Omit<SpoolRequest, 'record'> & { record: string };
  const decoded = decodeRunRecord(record);
  if (decoded === undefined) return undefined;
  // One that was written before there were files has none.
  return { ...rest, spawn: { ...spawn, envFiles: spawn.envFiles ?? {} }, record: decoded };
}
