import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { SubscribeRequestSchema } from '#gen/hep/bridge/v1/event_service_pb.js';
import type { CallHost } from './call-host.js';
import { decodeRequest } from './decode-request.js';
import { serverStreamHandler } from './handle-stream.js';
import { serveSubscription } from './subscription.js';
import type { SubscriptionRoom } from './subscription-room.js';

/** Handlers of `hep.bridge.v1.EventService`. */
export function eventService(host: CallHost, room: SubscriptionRoom): UntypedServiceImplementation {
  return {
    subscribe: serverStreamHandler(host, async (bytes, call, outlet) => {
      const request = decodeRequest(SubscribeRequestSchema, bytes);
      await serveSubscription(room, request, call, outlet);
    }),
  };
}
