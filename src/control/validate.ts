import { type Duration, durationMs } from '@bufbuild/protobuf/wkt';
import { BridgeError, type FieldViolation } from '../errors.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LABEL_KEY = /^[a-z0-9._-]{1,63}$/;
const MAX_LABELS = 16;
const MAX_LABEL_VALUE_BYTES = 256;
const MAX_PARTITION_KEY_BYTES = 256;
const MAX_REASON_BYTES = 1_024;

type Check = readonly FieldViolation[];

export function checkRunId(runId: string): Check {
  if (UUID_V7.test(runId)) return [];
  const description = `${quote(runId)} is no UUIDv7 in lower case; mint one with a UUIDv7 library`;
  return [{ field: 'run_id', description }];
}

export function checkRequestId(requestId: string): Check {
  if (UUID.test(requestId)) return [];
  const description = `${quote(requestId)} is no UUID; mint one and send it again with every retry`;
  return [{ field: 'request_id', description }];
}

export function checkLabels(labels: Readonly<Record<string, string>>): Check {
  const found: FieldViolation[] = [];
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) {
    found.push({ field: 'labels', description: `${entries.length} labels; at most ${MAX_LABELS}` });
  }
  for (const [key, value] of entries) {
    const field = `labels[${quote(key)}]`;
    if (!LABEL_KEY.test(key)) {
      found.push({ field, description: 'a key is 1 to 63 characters of a-z 0-9 . _ -' });
    } else if (Buffer.byteLength(value) > MAX_LABEL_VALUE_BYTES) {
      found.push({ field, description: `a value has at most ${MAX_LABEL_VALUE_BYTES} bytes` });
    }
  }
  return found;
}

export function checkPartitionKey(key: string): Check {
  if (Buffer.byteLength(key) <= MAX_PARTITION_KEY_BYTES) return [];
  return [{ field: 'partition_key', description: `at most ${MAX_PARTITION_KEY_BYTES} bytes` }];
}

export function checkReason(reason: string): Check {
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return [];
  return [{ field: 'reason', description: `at most ${MAX_REASON_BYTES} bytes` }];
}

export function checkDuration(field: string, value: Duration | undefined, maxMs: number): Check {
  if (value === undefined) return [];
  const ms = durationMs(value);
  if (ms >= 0 && ms <= maxMs) return [];
  return [{ field, description: `0 to ${maxMs / 1_000} s` }];
}

/** Throws `INVALID_REQUEST` that names every field at fault, if there is one. */
export function refuseViolations(...checks: readonly Check[]): void {
  const fields = checks.flat();
  const [first] = fields;
  if (first === undefined) return;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  throw new BridgeError('INVALID_REQUEST', `${first.field}: ${first.description}${more}`, {
    fields,
  });
}

function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text);
}
