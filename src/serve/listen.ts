import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { BridgeError } from '../errors.js';

/** Binds `address` (`host:port`, port 0 = any); resolves to the port. Fails with `ADDRESS_IN_USE`. */
export function listen(
  server: Server,
  address: string,
  credentials: ServerCredentials = ServerCredentials.createInsecure(),
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (cause, port) => {
      if (cause === null) resolve(port);
      else reject(cannotListen(address, cause));
    });
  });
}

function cannotListen(address: string, cause: Error): BridgeError {
  if (cause.message.includes('EADDRINUSE')) {
    const port = address.slice(address.lastIndexOf(':') + 1);
    return new BridgeError(
      'ADDRESS_IN_USE',
      `cannot listen on ${address}: port ${port} is in use by another process; ` +
        'end that one or choose another address with --listen',
      { cause, metadata: { address } },
    );
  }
  return new BridgeError(
    'CONFIG_INVALID',
    `cannot listen on ${address}: it is no address of this machine; give --listen as host:port of this machine`,
    { cause, metadata: { address } },
  );
}
