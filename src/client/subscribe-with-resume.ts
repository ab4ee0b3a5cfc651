import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  SubscribeRequestSchema,
  type SubscribeResponse,
} from '#gen/hep/bridge/v1/event_service_pb.js';
import { BridgeError, type Code, toBridgeError } from '../errors.js';
import { pause } from '../serve/pause.js';
import { backoffMs } from './backoff.js';
import type { BridgeClient, RunEvent, SubscribeOptions } from './bridge-client.js';
import { createEventReader } from './event-reader.js';

type Request = MessageInitShape<typeof SubscribeRequestSchema>;

const defaultRetryForMs = 30_000;

/** The call was cut, or another gateway, or this one later, can go on. */
const worthRetry: ReadonlySet<Code> = new Set<Code>([
  'BRIDGE_UNREACHABLE',
  'DRAINING',
  'LOG_UNAVAILABLE',
  'NATS_UNREACHABLE',
]);

/** See `BridgeClient.subscribe`. A subscription that never began fails at once. */
export async function* subscribeWithResume(
  subscribeOnce: BridgeClient['subscribeOnce'],
  init: Request,
  options: SubscribeOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  const request = create(SubscribeRequestSchema, init);
  const reader = createEventReader(request);
  const signal = options.signal ?? new AbortController().signal;
  let hasBegun = false;
  let failures = 0;
  let answeredAt = performance.now();
  for (;;) {
    let error: BridgeError;
    try {
      for await (const response of subscribeOnce(request, { signal })) {
        hasBegun = true;
        failures = 0;
        answeredAt = performance.now();
        for (const batch of response.batches) {
          for (const event of reader.read(batch)) {
            yield event;
            if (request.target.case === 'runId' && event.event.payload.case === 'runFinished') {
              return;
            }
          }
        }
        if (response.cursor !== '') request.start = { case: 'cursor', value: response.cursor };
        tell(response, options);
        // A reader may take its time with what it was given.
        answeredAt = performance.now();
      }
      // The bridge ends a run's stream with OK only after RunFinished, which this reader may have from before.
      error = new BridgeError('BRIDGE_UNREACHABLE', 'the stream was cut before the run was over');
      if (failures > 0 && request.target.case === 'runId') return;
    } catch (thrown) {
      signal.throwIfAborted();
      error = toBridgeError(thrown);
      if (!hasBegun || !worthRetry.has(error.code)) throw error;
    }
    if (performance.now() - answeredAt > (options.retryForMs ?? defaultRetryForMs)) throw error;
    reader.reconnected();
    const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(failures));
    failures += 1;
    options.onNotice?.({ kind: 'reconnecting', error, waitMs });
    await pause(waitMs, signal);
  }
}

function tell(response: SubscribeResponse, options: SubscribeOptions): void {
  if (response.notice.case === undefined) return;
  options.onNotice?.({ kind: response.notice.case });
}
