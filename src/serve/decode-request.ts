import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { BridgeError } from '../errors.js';

/** Decodes a request; fails with `INVALID_REQUEST` if the bytes are no such message. */
export function decodeRequest<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new BridgeError('INVALID_REQUEST', `the request is not a ${schema.typeName}`, { cause });
  }
}
