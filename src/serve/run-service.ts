import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { ServerUnaryCall, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import {
  CancelRunRequestSchema,
  CancelRunResponseSchema,
  GetRunRequestSchema,
  GetRunResponseSchema,
  ListRunsRequestSchema,
  ListRunsResponseSchema,
  StartRunRequestSchema,
  StartRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import type { CallHost } from './call-host.js';
import { decodeRequest } from './decode-request.js';
import { unaryHandler } from './handle-unary.js';
import type { Caller, Runs } from './runs.js';

/** Handlers of `hep.bridge.v1.RunService`. */
export function runService(host: CallHost, runs: Runs): UntypedServiceImplementation {
  return {
    startRun: typed(host, StartRunRequestSchema, StartRunResponseSchema, (request, caller) =>
      runs.start(request, caller),
    ),
    getRun: typed(host, GetRunRequestSchema, GetRunResponseSchema, (request, caller) =>
      runs.get(request, caller),
    ),
    listRuns: typed(host, ListRunsRequestSchema, ListRunsResponseSchema, (request, caller) =>
      runs.list(request, caller),
    ),
    cancelRun: typed(host, CancelRunRequestSchema, CancelRunResponseSchema, (request, caller) =>
      runs.cancel(request, caller),
    ),
  };
}

function typed<Request extends DescMessage, Response extends DescMessage>(
  host: CallHost,
  request: Request,
  response: Response,
  handle: (request: MessageShape<Request>, caller: Caller) => Promise<MessageShape<Response>>,
): (call: ServerUnaryCall<Uint8Array, Uint8Array>, answer: sendUnaryData<Uint8Array>) => void {
  return unaryHandler(host, async (bytes, call) =>
    toBinary(response, await handle(decodeRequest(request, bytes), call.caller)),
  );
}
