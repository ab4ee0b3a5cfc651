import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { toBridgeError } from '../errors.js';
import type { CallContext } from './call-context.js';
import { admit, type CallHost, clientGone } from './call-host.js';
import { statusError } from './status.js';

type UnaryCall = ServerUnaryCall<Uint8Array, Uint8Array>;

/** A gRPC handler around `handle`: whatever happens the client gets exactly one answer. */
export function unaryHandler(
  host: CallHost,
  handle: (request: Uint8Array, call: CallContext) => Promise<Uint8Array>,
): (call: UnaryCall, answer: sendUnaryData<Uint8Array>) => void {
  return (call, answer) => {
    void respond(host, handle, call).then(
      (response) => answer(null, response),
      (thrown: unknown) => answer(statusError(toBridgeError(thrown))),
    );
  };
}

async function respond(
  host: CallHost,
  handle: (request: Uint8Array, call: CallContext) => Promise<Uint8Array>,
  call: UnaryCall,
): Promise<Uint8Array> {
  const controller = admit(host, 'unary');
  const onCancelled = (): void => controller.abort(clientGone());
  call.on('cancelled', onCancelled);
  try {
    const caller = host.authenticate(call.metadata);
    return await handle(call.request, { caller, signal: controller.signal });
  } finally {
    call.off('cancelled', onCancelled);
    host.unary.delete(controller);
  }
}
