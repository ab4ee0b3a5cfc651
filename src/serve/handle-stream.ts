import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { toBridgeError } from '../errors.js';
import type { CallContext } from './call-context.js';
import { admit, type CallHost, clientGone } from './call-host.js';
import type { Outlet } from './outlet.js';
import { pullRequests } from './pull-requests.js';
import { statusError } from './status.js';

type ServerStream = ServerWritableStream<Uint8Array, Uint8Array>;
type BidiStream = ServerDuplexStream<Uint8Array, Uint8Array>;
type AnyStream = ServerStream | BidiStream;

/** Bytes handed to gRPC and not yet taken by the connection, above which a writer waits. */
const maxUnsentBytes = 256 * 1024;

/** A gRPC handler of a server stream around `handle`, which ends the call by returning or throwing. */
export function serverStreamHandler(
  host: CallHost,
  handle: (request: Uint8Array, call: CallContext, outlet: Outlet) => Promise<void>,
): (call: ServerStream) => void {
  return (call) => {
    void runStream(host, call, (context, outlet) => handle(call.request, context, outlet));
  };
}

/** A gRPC handler of a two-way stream around `handle`, which ends the call by returning or throwing. */
export function bidiHandler(
  host: CallHost,
  handle: (requests: AsyncIterable<Uint8Array>, call: CallContext, outlet: Outlet) => Promise<void>,
): (call: BidiStream) => void {
  return (call) => {
    void runStream(host, call, (context, outlet) =>
      handle(pullRequests(call, context.signal), context, outlet),
    );
  };
}

/** Never rejects; ends `call` exactly once, with OK or with the error's status. */
async function runStream(
  host: CallHost,
  call: AnyStream,
  run: (context: CallContext, outlet: Outlet) => Promise<void>,
): Promise<void> {
  let controller: AbortController | undefined;
  try {
    controller = admit(host, 'streams');
    const { signal } = controller;
    const leave = (): void => controller?.abort(clientGone());
    call.on('cancelled', leave);
    if (call.cancelled) leave();
    await run({ caller: host.authenticate(call.metadata), signal }, outletOf(call, signal));
    if (isOpen(call)) call.end();
  } catch (thrown) {
    // grpc-js turns an emitted error into the call's status; destroy() would leave the client hanging.
    if (isOpen(call)) call.emit('error', statusError(toBridgeError(thrown)));
  } finally {
    if (controller !== undefined) host.streams.delete(controller);
  }
}

function isOpen(call: AnyStream): boolean {
  return !call.cancelled && !call.destroyed && !call.writableEnded;
}

function outletOf(call: AnyStream, signal: AbortSignal): Outlet {
  let unsentBytes = 0;
  let needsDrain = false;
  let room: { readonly promise: Promise<void>; readonly open: () => void } | undefined;
  const check = (): void => {
    if (room === undefined || needsDrain || unsentBytes > maxUnsentBytes) return;
    room.open();
    room = undefined;
  };
  call.on('drain', () => {
    needsDrain = false;
    check();
  });
  return {
    write: (message) => {
      if (!isOpen(call)) return Promise.reject(signal.reason ?? clientGone());
      unsentBytes += message.length;
      const hasRoom = call.write(message, () => {
        unsentBytes -= message.length;
        check();
      });
      if (!hasRoom) needsDrain = true;
      if (hasRoom && unsentBytes <= maxUnsentBytes) return undefined;
      room ??= waitForRoom(signal);
      return room.promise;
    },
  };
}

function waitForRoom(signal: AbortSignal): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    open = () => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  return { promise, open };
}
