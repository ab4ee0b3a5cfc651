import { fromBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SubscribeResponseSchema } from '#gen/hep/bridge/v1/event_service_pb.js';
import { fromStatus } from '../../src/client/status-error.js';
import { BridgeError } from '../../src/errors.js';
import { encodeBatches, encodeDraining, encodeNotice } from '../../src/serve/encode-response.js';
import { statusError } from '../../src/serve/status.js';

test('a client reads code, metadata, fields and retry delay as the bridge wrote them', () => {
  const error = new BridgeError('INVALID_REQUEST', 'SubscribeRequest: cursor: must not be empty', {
    fields: [{ field: 'cursor', description: 'must not be empty' }],
    metadata: { first_sequence: '17' },
    retryAfterMs: 2500,
  });
  const sent = statusError(error);
  expect(sent.code).toBe(status.INVALID_ARGUMENT);
  const got = fromStatus(sent, 'localhost:1');
  expect(got).toMatchObject({
    code: error.code,
    message: error.message,
    fields: error.fields,
    metadata: error.metadata,
    retryAfterMs: 2500,
  });
});

test('UNAVAILABLE always says when to come back', () => {
  const got = fromStatus(statusError(new BridgeError('LOG_UNAVAILABLE', 'NATS is away')), '');
  expect(got).toMatchObject({ code: 'LOG_UNAVAILABLE', retryAfterMs: 1000 });
});

test('status text is printable ASCII of at most 1 KiB and the details stay small, whatever the message', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 4000 }), (text) => {
      const lone = `\ud83d${text}\ude00`;
      const sent = statusError(
        new BridgeError('INTERNAL', lone, {
          metadata: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`k${at}`, lone])),
        }),
      );
      expect(sent.details).toMatch(/^[\x20-\x7e]*$/);
      expect(sent.details.length).toBeLessThanOrEqual(1024);
      expect(() => encodeURI(sent.details)).not.toThrow();
      const [details] = sent.metadata.get('grpc-status-details-bin');
      expect(Buffer.from(details ?? '').length).toBeLessThan(7000);
    }),
    { numRuns: 50 },
  );
});

test('hand-made responses decode to what they say', () => {
  const batch = Buffer.from([0x0a, 1, 0x72]);
  const response = fromBinary(SubscribeResponseSchema, encodeBatches([batch, batch], 'abc'));
  expect(response.batches.map(({ runId }) => runId)).toEqual(['r', 'r']);
  expect(response.cursor).toBe('abc');
  for (const kind of ['caughtUp', 'fellBehind', 'heartbeat'] as const) {
    const { notice, cursor } = fromBinary(SubscribeResponseSchema, encodeNotice(kind, 'x'));
    expect([notice.case, cursor]).toEqual([kind, 'x']);
  }
  for (const ms of [0, 1, 999, 1000, 2500, 3_600_001]) {
    const { notice } = fromBinary(SubscribeResponseSchema, encodeDraining(ms, 'x'));
    if (notice.case !== 'draining') throw new Error('not draining');
    const { seconds = 0n, nanos = 0 } = notice.value.retryDelay ?? {};
    expect(Number(seconds) * 1000 + nanos / 1e6).toBe(ms);
  }
});
