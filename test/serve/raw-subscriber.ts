import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  SubscribeRequestSchema,
  type SubscribeResponse,
  SubscribeResponseSchema,
} from '#gen/hep/bridge/v1/event_service_pb.js';

/** A Subscribe call that reads only when asked to; until then it holds 64 KiB (HTTP/2's window). */
export interface RawSubscriber extends AsyncDisposable {
  /** Leaving it stops the reading; another one goes on where it was left. */
  responses(): AsyncIterable<SubscribeResponse>;
}

export function subscribeRaw(
  address: string,
  request: MessageInitShape<typeof SubscribeRequestSchema>,
): RawSubscriber {
  const session: ClientHttp2Session = connect(`http://${address}`);
  const stream: ClientHttp2Stream = session.request({
    ':method': 'POST',
    ':path': '/hep.bridge.v1.EventService/Subscribe',
    'content-type': 'application/grpc+proto',
    te: 'trailers',
  });
  const body = toBinary(SubscribeRequestSchema, create(SubscribeRequestSchema, request));
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  frame.set(body, 5);
  stream.end(frame);
  let rest = Buffer.alloc(0);
  return {
    responses: async function* () {
      // Reading one frame must not end the stream.
      for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
        rest = Buffer.concat([rest, chunk]);
        while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
          const end = 5 + rest.readUInt32BE(1);
          const message = rest.subarray(5, end);
          rest = rest.subarray(end);
          yield fromBinary(SubscribeResponseSchema, message);
        }
      }
    },
    [Symbol.asyncDispose]: async () => {
      stream.close();
      session.destroy();
    },
  };
}
