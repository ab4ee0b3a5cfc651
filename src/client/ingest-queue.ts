import { create } from '@bufbuild/protobuf';
import {
  type IngestExit,
  type IngestOpen,
  type IngestOpened,
  type IngestRequest,
  IngestRequestSchema,
  type IngestSignalled,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { UnackedBytes } from './unacked-bytes.js';

/** All that one upload has to say, beyond any single call. */
export interface IngestQueue {
  readonly open: IngestOpen;
  readonly stdout: UnackedBytes;
  readonly stderr: UnackedBytes;
  /** Reports that the bridge may not have yet; the first `reportsSent` were sent in this call. */
  readonly reports: IngestSignalled[];
  reportsSent: number;
  exit: IngestExit | undefined;
}

/** One call's view of the queue. */
export interface IngestCall {
  /** Undefined until the bridge has answered `open`. */
  opened: IngestOpened | undefined;
  /** Resolves when there may be more to say. */
  readonly next: () => Promise<void>;
  isOver: boolean;
}

/** What one call says: `open`, then from the offsets of the answer on, up to `exit`. */
export async function* ingestRequests(
  queue: IngestQueue,
  call: IngestCall,
): AsyncGenerator<IngestRequest, void, undefined> {
  yield create(IngestRequestSchema, { message: { case: 'open', value: queue.open } });
  while (call.opened === undefined && !call.isOver) await call.next();
  if (call.opened === undefined) return;
  const { opened } = call;
  const maxBytes = Math.max(1, opened.maxChunkBytes);
  const sent = { stdout: Number(opened.stdoutOffset), stderr: Number(opened.stderrOffset) };
  while (!call.isOver) {
    const report = queue.reports[queue.reportsSent];
    if (report !== undefined) {
      queue.reportsSent += 1;
      yield create(IngestRequestSchema, { message: { case: 'signalled', value: report } });
      continue;
    }
    let saidSomething = false;
    for (const pipe of ['stdout', 'stderr'] as const) {
      const bytes = queue[pipe];
      if (bytes.end <= sent[pipe]) continue;
      const data = bytes.read(sent[pipe], maxBytes);
      const value = { offset: BigInt(sent[pipe]), data };
      sent[pipe] += data.length;
      saidSomething = true;
      yield create(IngestRequestSchema, {
        message: pipe === 'stdout' ? { case: 'stdout', value } : { case: 'stderr', value },
      });
    }
    if (saidSomething) continue;
    if (queue.exit !== undefined) {
      yield create(IngestRequestSchema, { message: { case: 'exit', value: queue.exit } });
      return;
    }
    await call.next();
  }
}
