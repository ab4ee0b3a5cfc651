import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { BridgeError, Code } from '../errors.js';
import { asciiText, encodeStatusDetails } from './error-details.js';

/** gRPC status of each code; the reason in `ErrorInfo` is the code itself. */
const statusOfCode: Readonly<Record<Code, status>> = {
  INVALID_REQUEST: status.INVALID_ARGUMENT,
  RUN_NOT_FOUND: status.NOT_FOUND,
  RUN_EXISTS: status.ALREADY_EXISTS,
  RUN_FINISHED: status.FAILED_PRECONDITION,
  PROFILE_NOT_FOUND: status.NOT_FOUND,
  PROFILE_UNUSABLE: status.FAILED_PRECONDITION,
  AGENT_UNSUPPORTED: status.FAILED_PRECONDITION,
  CURSOR_INVALID: status.INVALID_ARGUMENT,
  CURSOR_AHEAD: status.OUT_OF_RANGE,
  HISTORY_GONE: status.OUT_OF_RANGE,
  STREAM_RECREATED: status.FAILED_PRECONDITION,
  LOG_HOLE: status.DATA_LOSS,
  EXPORT_INCOMPLETE: status.DATA_LOSS,
  LOG_UNAVAILABLE: status.UNAVAILABLE,
  OWNER_UNREACHABLE: status.UNAVAILABLE,
  DRAINING: status.UNAVAILABLE,
  LIMIT_REACHED: status.RESOURCE_EXHAUSTED,
  INGEST_GAP: status.OUT_OF_RANGE,
  INGEST_TAKEN_OVER: status.ABORTED,
  FENCED: status.ABORTED,
  CANCELLED: status.CANCELLED,
  BRIDGE_UNREACHABLE: status.UNAVAILABLE,
  DATA_DIR_IN_USE: status.FAILED_PRECONDITION,
  DATA_DIR_INVALID: status.FAILED_PRECONDITION,
  ADDRESS_IN_USE: status.FAILED_PRECONDITION,
  NATS_UNREACHABLE: status.UNAVAILABLE,
  NATS_SERVER_MISSING: status.FAILED_PRECONDITION,
  KEEPER_UNREACHABLE: status.UNAVAILABLE,
  CONFIG_INVALID: status.FAILED_PRECONDITION,
  USAGE: status.INVALID_ARGUMENT,
  INTERNAL: status.INTERNAL,
};

/** UNAVAILABLE without a wish of its own asks for a retry after this. */
const defaultRetryMs = 1000;
const maxDetailsChars = 1024;

/** The gRPC status that stands for `code`. */
export function statusOf(code: Code): status {
  return statusOfCode[code];
}

/** Whether `text` is one of our codes, as `ErrorInfo.reason` names them. */
export function isCode(text: string): text is Code {
  return Object.hasOwn(statusOfCode, text);
}

/**
 * What grpc-js sends for `error`: status, ASCII text of at most 1 KiB, and in
 * `grpc-status-details-bin` a `google.rpc.Status` with `ErrorInfo` (reason = code, domain
 * `hep.bridge`), `BadRequest` if fields are named and `RetryInfo` if a retry makes sense.
 */
export function statusError(error: BridgeError): ServiceError {
  const code = statusOfCode[error.code];
  const details = asciiText(error.message, maxDetailsChars);
  const retryAfterMs =
    error.retryAfterMs ?? (code === status.UNAVAILABLE ? defaultRetryMs : undefined);
  const metadata = new Metadata();
  metadata.set(
    'grpc-status-details-bin',
    Buffer.from(encodeStatusDetails(code, details, error, retryAfterMs)),
  );
  return { name: error.name, message: details, code, details, metadata };
}
