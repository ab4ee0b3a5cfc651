import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { BridgeError } from '../errors.js';

/** `ErrorInfo.domain` of everything that this bridge refuses. */
export const errorDomain = 'hep.bridge';

const maxValueChars = 256;
const maxEntries = 16;
const typePrefix = 'type.googleapis.com/google.rpc.';

/**
 * `text` as printable ASCII of at most `maxChars` characters: grpc-js leaves the client hanging on
 * half a surrogate pair in a status, and trailers have little room.
 */
export function asciiText(text: string, maxChars: number): string {
  const head = text.length > maxChars ? text.slice(0, maxChars) : text;
  const ascii = head.replace(/[^\x20-\x7e]/g, escapeUnit);
  return text.length > maxChars || ascii.length > maxChars
    ? `${ascii.slice(0, maxChars - 3)}...`
    : ascii;
}

/** A serialized `google.rpc.Status` with the details that `error` has. */
export function encodeStatusDetails(
  grpcStatus: number,
  text: string,
  error: BridgeError,
  retryAfterMs: number | undefined,
): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(grpcStatus);
  writer.tag(2, WireType.LengthDelimited).string(text);
  writeAny(writer, 'ErrorInfo', encodeErrorInfo(error));
  if (error.fields.length > 0) writeAny(writer, 'BadRequest', encodeBadRequest(error));
  if (retryAfterMs !== undefined) writeAny(writer, 'RetryInfo', encodeRetryInfo(retryAfterMs));
  return writer.finish();
}

function writeAny(writer: BinaryWriter, type: string, value: Uint8Array): void {
  writer.tag(3, WireType.LengthDelimited).fork();
  writeText(writer, 1, typePrefix + type);
  writer.tag(2, WireType.LengthDelimited).bytes(value);
  writer.join();
}

function encodeErrorInfo(error: BridgeError): Uint8Array {
  const writer = new BinaryWriter();
  writeText(writer, 1, error.code);
  writeText(writer, 2, errorDomain);
  for (const [key, value] of Object.entries(error.metadata).slice(0, maxEntries)) {
    writer.tag(3, WireType.LengthDelimited).fork();
    writeText(writer, 1, key);
    writeText(writer, 2, value);
    writer.join();
  }
  return writer.finish();
}

function encodeBadRequest(error: BridgeError): Uint8Array {
  const writer = new BinaryWriter();
  for (const violation of error.fields.slice(0, maxEntries)) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writeText(writer, 1, violation.field);
    writeText(writer, 2, violation.description);
    writer.join();
  }
  return writer.finish();
}

function encodeRetryInfo(retryAfterMs: number): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(Math.floor(retryAfterMs / 1000));
  writer.tag(2, WireType.Varint).int32(Math.round(retryAfterMs % 1000) * 1_000_000);
  return writer.join().finish();
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.tag(field, WireType.LengthDelimited).string(asciiText(text, maxValueChars));
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
