import { create, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import {
  type IngestRequest,
  IngestRequestSchema,
  type IngestResponse,
  IngestResponseSchema,
} from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { CallContext } from './call-context.js';
import type { CallHost } from './call-host.js';
import { decodeRequest } from './decode-request.js';
import { bidiHandler } from './handle-stream.js';
import type { Outlet } from './outlet.js';
import type { Runs } from './runs.js';

/** Handlers of `hep.bridge.v1.IngestService`. */
export function ingestService(host: CallHost, runs: Runs): UntypedServiceImplementation {
  return {
    ingest: bidiHandler(host, async (requests, call, outlet) => {
      try {
        await forward(runs.ingest(decodeAll(requests), call.caller, call.signal), call, outlet);
      } finally {
        // Only the gateway's own farewell finds the call still open for a write.
        if (call.signal.aborted) sayDraining(outlet, host.drainRetryMs);
      }
    }),
  };
}

/** Sends all responses; fails with the signal's reason even if the source does not heed it. */
async function forward(
  responses: AsyncIterable<IngestResponse>,
  call: CallContext,
  outlet: Outlet,
): Promise<void> {
  const source = responses[Symbol.asyncIterator]();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(call.signal.reason);
    call.signal.addEventListener('abort', stop, { once: true });
    if (call.signal.aborted) stop();
  });
  stopped.catch(ignore);
  try {
    for (;;) {
      const next = await Promise.race([source.next(), stopped]);
      if (next.done === true) return;
      await outlet.write(toBinary(IngestResponseSchema, next.value));
    }
  } finally {
    // Not awaited: a source that waits for something else must not hold the call.
    source.return?.().catch(ignore);
  }
}

function sayDraining(outlet: Outlet, drainRetryMs: number): void {
  const response = create(IngestResponseSchema, {
    message: { case: 'draining', value: { retryDelay: durationFromMs(drainRetryMs) } },
  });
  outlet.write(toBinary(IngestResponseSchema, response))?.catch(ignore);
}

async function* decodeAll(requests: AsyncIterable<Uint8Array>): AsyncIterable<IngestRequest> {
  for await (const bytes of requests) yield decodeRequest(IngestRequestSchema, bytes);
}

function ignore(): void {}
