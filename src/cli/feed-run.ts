import { v7 as uuidv7 } from 'uuid';
import type { BridgeClient } from '../client/bridge-client.js';
import {
  type Ingest,
  type IngestWithResumeOptions,
  ingestWithResume,
} from '../client/ingest-with-resume.js';
import type { RunOptions } from './options.js';
import type { Output } from './output.js';
import { createReconnectNote } from './reconnect-note.js';

/** A run that this command feeds. */
export interface FedRun {
  readonly runId: string;
  readonly ingest: Ingest;
}

/** Opens the run that the options describe; resolves when the bridge has taken it in. */
export async function feedRun(
  client: BridgeClient,
  options: RunOptions,
  stderr: Output,
  onCancel: IngestWithResumeOptions['onCancel'],
): Promise<FedRun> {
  const runId = options.runId ?? uuidv7();
  const note = createReconnectNote(stderr);
  const ingest = ingestWithResume(client.ingest, {
    open: {
      runId,
      labels: { ...options.label },
      partitionKey: options.partitionKey ?? '',
      strict: options.strict === true,
    },
    onCancel,
    onReconnect: (error) => note.cut(error),
    onReopened: () => note.answered(),
  });
  await ingest.opened;
  return { runId, ingest };
}
