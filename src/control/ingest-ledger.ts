import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonFile, writeWholeFile } from '../ingest/spool/whole-file.js';
import { decodeRunRecord, encodeRunRecord, type RunRecord } from '../log/run-record.js';

/** What a restarted bridge needs to take a client's run up again. */
export interface LedgerEntry {
  readonly record: RunRecord;
  readonly strict: boolean;
}

/**
 * The runs that clients stream through Ingest, one file each, from before their first event to after
 * their last: what the spool is for runs with a child of the bridge.
 */
export interface IngestLedger {
  enter(entry: LedgerEntry): void;
  list(): Promise<readonly LedgerEntry[]>;
  remove(runId: string): Promise<void>;
}

export function openIngestLedger(dataDir: string): IngestLedger {
  const dir = join(dataDir, 'ingest');
  const fileOf = (runId: string): string => join(dir, `${runId}.json`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });

  return {
    enter({ record, strict }) {
      const text = JSON.stringify({ record: encodeRunRecord(record), strict });
      writeWholeFile(fileOf(record.run.runId), `${text}\n`, 'process');
    },
    async list() {
      const entries: LedgerEntry[] = [];
      for (const name of (await readdir(dir)).sort()) {
        const entry = name.endsWith('.json')
          ? decodeEntry(readJsonFile(join(dir, name)))
          : undefined;
        if (entry !== undefined) entries.push(entry);
      }
      return entries;
    },
    remove: (runId) => rm(fileOf(runId), { force: true }),
  };
}

function decodeEntry(value: unknown): LedgerEntry | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { record, strict } = value as { record?: unknown; strict?: unknown };
  const decoded = typeof record === 'string' ? decodeRunRecord(record) : undefined;
  return decoded === undefined ? undefined : { record: decoded, strict: strict === true };
}
