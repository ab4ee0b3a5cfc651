import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonFile, writeWholeFile } from '../../ingest/spool/whole-file.js';
import { decodeRunRecord, encodeRunRecord, type RunRecord } from '../../log/run-record.js';

/**
 * The runs that clients stream through Ingest, one file each, from before their first event to after
 * their last: what the spool is for runs with a child of the bridge.
 */
export interface IngestLedger {
  enter(record: RunRecord): void;
  list(): Promise<readonly RunRecord[]>;
  remove(runId: string): Promise<void>;
}

export function openIngestLedger(dataDir: string): IngestLedger {
  const dir = join(dataDir, 'ingest');
  const fileOf = (runId: string): string => join(dir, `${runId}.json`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });

  return {
    enter(record) {
      const text = JSON.stringify({ record: encodeRunRecord(record) });
      writeWholeFile(fileOf(record.run.runId), `${text}\n`, 'process');
    },
    async list() {
      const records: RunRecord[] = [];
      for (const name of (await readdir(dir)).sort()) {
        const record = name.endsWith('.json')
          ? decodeEntry(readJsonFile(join(dir, name)))
          : undefined;
        if (record !== undefined) records.push(record);
      }
      return records;
    },
    remove: (runId) => rm(fileOf(runId), { force: true }),
  };
}

function decodeEntry(value: unknown): RunRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { record } = value as { record?: unknown };
  return typeof record === 'string' ? decodeRunRecord(record) : undefined;
}
