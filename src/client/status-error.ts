import { BinaryReader } from '@bufbuild/protobuf/wire';
import { type ServiceError, status } from '@grpc/grpc-js';
import { BridgeError, type Code, type FieldViolation } from '../errors.js';
import { errorDomain } from '../serve/error-details.js';
import { isCode } from '../serve/status.js';

const typePrefix = 'type.googleapis.com/google.rpc.';

/** What a failed call means: the bridge's own code if it gave one, else by the status alone. */
export function fromStatus(error: ServiceError, server: string): BridgeError {
  const details = readDetails(error);
  if (details?.code !== undefined) {
    return new BridgeError(details.code, error.details, { cause: error, ...details });
  }
  return new BridgeError(codeOfStatus(error.code), describe(error, server), { cause: error });
}

/** A status without a word from the bridge itself: it comes from the way to it, or from another server. */
function codeOfStatus(code: status): Code {
  switch (code) {
    case status.UNIMPLEMENTED:
    case status.RESOURCE_EXHAUSTED:
    case status.INVALID_ARGUMENT:
      return 'INVALID_REQUEST';
    default:
      return 'BRIDGE_UNREACHABLE';
  }
}

function describe(error: ServiceError, server: string): string {
  const name = status[error.code] ?? String(error.code);
  return error.code === status.UNAVAILABLE
    ? `no bridge answers at ${server} (${shortCause(error.details)}); start one with: hep-bridge serve`
    : `the call to ${server} failed: ${name}: ${error.details}`;
}

/** grpc-js appends what its resolver said, which here says nothing. */
function shortCause(details: string): string {
  return details.replace(/\. Last error:.*/s, '').replace(/\s*Resolution note:.*/s, '');
}

interface Details {
  code?: Code;
  metadata: Record<string, string>;
  fields: FieldViolation[];
  retryAfterMs?: number;
}

function readDetails(error: ServiceError): Details | undefined {
  const raw = error.metadata?.get('grpc-status-details-bin')[0];
  if (!Buffer.isBuffer(raw)) return undefined;
  const details: Details = { metadata: {}, fields: [] };
  try {
    eachField(raw, (field, reader) => {
      if (field !== 3) return false;
      readAny(reader.bytes(), details);
      return true;
    });
  } catch {
    // Another server's bytes: the status alone must do.
    return undefined;
  }
  return details;
}

function readAny(bytes: Uint8Array, details: Details): void {
  const { texts, values } = readPair(bytes);
  const value = values[2] ?? new Uint8Array();
  switch (texts[1]) {
    case `${typePrefix}ErrorInfo`:
      readErrorInfo(value, details);
      break;
    case `${typePrefix}BadRequest`:
      eachField(value, (field, reader) => {
        if (field !== 1) return false;
        const { texts: violation } = readPair(reader.bytes());
        details.fields.push({ field: violation[1] ?? '', description: violation[2] ?? '' });
        return true;
      });
      break;
    case `${typePrefix}RetryInfo`:
      eachField(value, (field, reader) => {
        if (field !== 1) return false;
        details.retryAfterMs = readDurationMs(reader.bytes());
        return true;
      });
      break;
  }
}

function readErrorInfo(bytes: Uint8Array, details: Details): void {
  let reason = '';
  let domain = '';
  eachField(bytes, (field, reader) => {
    if (field === 1) reason = reader.string();
    else if (field === 2) domain = reader.string();
    else if (field === 3) {
      const { texts } = readPair(reader.bytes());
      details.metadata[texts[1] ?? ''] = texts[2] ?? '';
    } else return false;
    return true;
  });
  if (domain === errorDomain) details.code = isCode(reason) ? reason : 'INTERNAL';
}

function readDurationMs(bytes: Uint8Array): number {
  let ms = 0;
  eachField(bytes, (field, reader) => {
    if (field === 1) ms += Number(reader.int64()) * 1000;
    else if (field === 2) ms += reader.int32() / 1_000_000;
    else return false;
    return true;
  });
  return ms;
}

/** Fields 1 and 2 of a message whose fields are all length-delimited. */
function readPair(bytes: Uint8Array): {
  texts: Record<number, string>;
  values: Record<number, Uint8Array>;
} {
  const texts: Record<number, string> = {};
  const values: Record<number, Uint8Array> = {};
  eachField(bytes, (field, reader) => {
    const value = reader.bytes();
    values[field] = value;
    texts[field] = Buffer.from(value).toString();
    return true;
  });
  return { texts, values };
}

/** Calls `read` at each field; what it does not read (false) is skipped. */
function eachField(
  bytes: Uint8Array,
  read: (field: number, reader: BinaryReader) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (!read(field, reader)) reader.skip(type, field);
  }
}
