import type { DescService } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/**
 * The service as grpc-js wants it. Messages pass as bytes both ways: the handlers decode and encode, so
 * that ready-made bytes are not made again and a bad request gets our status.
 */
export function defineService(service: DescService): ServiceDefinition {
  const methods: Record<string, MethodDefinition<Uint8Array, Uint8Array>> = {};
  for (const method of service.methods) {
    const { methodKind } = method;
    methods[method.localName] = {
      path: `/${service.typeName}/${method.name}`,
      requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
      responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
      requestSerialize: asBuffer,
      requestDeserialize: asIs,
      responseSerialize: asBuffer,
      responseDeserialize: asIs,
    };
  }
  return methods;
}

/** grpc-js copies with Buffer's own methods. */
function asBuffer(message: Uint8Array): Buffer {
  return Buffer.isBuffer(message)
    ? message
    : Buffer.from(message.buffer, message.byteOffset, message.byteLength);
}

function asIs(message: Buffer): Uint8Array {
  return message;
}
