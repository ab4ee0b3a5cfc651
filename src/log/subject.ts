import { BridgeError } from '../errors.js';
import type { MessageClass } from '../ingest/run-log.js';

/** Prefix of all subjects of the log: the schema of their bodies. */
export const EVENT_SUBJECT_ROOT = 'hep.event.v1';
/** Partitions of a stream; never changed after its creation. */
export const PARTITION_COUNT = 64;

const MAX_TENANT_BYTES = 64;
const PLAIN = /[A-Za-z0-9_-]/;
const PARTITION = /^\d{1,4}$/;
const ESCAPED = /^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/;

/** Where a run's messages stand. */
export interface RunAddress {
  /** Unescaped. */
  readonly tenant: string;
  readonly partition: number;
  readonly runId: string;
}

/** The partition of a key: FNV-1a (32 bit) of its UTF-8 bytes, modulo `PARTITION_COUNT`. */
export function partitionOf(partitionKey: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(partitionKey)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return (hash >>> 0) % PARTITION_COUNT;
}

/**
 * A tenant's name as one token of a subject or a key: letters, digits, `_` and `-` stay, every other
 * byte of its UTF-8 becomes `=HH`. Throws `INVALID_REQUEST` for an empty name, one of more than 64
 * bytes, or one that is not well-formed text.
 */
export function escapeToken(tenant: string): string {
  const bytes = new TextEncoder().encode(tenant);
  if (bytes.length === 0 || bytes.length > MAX_TENANT_BYTES || !tenant.isWellFormed()) {
    throw new BridgeError(
      'INVALID_REQUEST',
      `a tenant has 1 to ${MAX_TENANT_BYTES} bytes of text, not ${bytes.length}`,
    );
  }
  let token = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    token += PLAIN.test(character)
      ? character
      : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return token;
}

/** The tenant that `escapeToken` made a token of; throws `INVALID_REQUEST` for any other text. */
export function unescapeToken(token: string): string {
  const bytes: number[] = [];
  if (ESCAPED.test(token)) {
    for (let at = 0; at < token.length; at += 1) {
      const isEscape = token[at] === '=';
      bytes.push(
        isEscape ? Number.parseInt(token.slice(at + 1, at + 3), 16) : token.charCodeAt(at),
      );
      if (isEscape) at += 2;
    }
    const tenant = new TextDecoder().decode(Uint8Array.from(bytes));
    if (escapeTokenOrNone(tenant) === token) return tenant;
  }
  throw new BridgeError('INVALID_REQUEST', `${JSON.stringify(token)} is no token of a tenant`);
}

function escapeTokenOrNone(tenant: string): string | undefined {
  try {
    return escapeToken(tenant);
  } catch {
    return undefined;
  }
}

/** `hep.event.v1.<tenant>.<partition>.<run>`: a run's subjects without their class. */
export function runSubjectPrefix({ tenant, partition, runId }: RunAddress): string {
  return `${EVENT_SUBJECT_ROOT}.${escapeToken(tenant)}.${partition}.${runId}`;
}

/** What a message's subject says. */
export interface ParsedSubject {
  readonly tenantToken: string;
  readonly partition: number;
  readonly runId: string;
  readonly class: MessageClass;
}

/** Undefined if the subject is not one of the log's. */
export function parseSubject(subject: string): ParsedSubject | undefined {
  const tokens = subject.split('.');
  const [, , , tenantToken, partition, runId, messageClass] = tokens;
  if (tokens.length !== 7 || !subject.startsWith(`${EVENT_SUBJECT_ROOT}.`)) return undefined;
  if (tenantToken === undefined || runId === undefined || !isClass(messageClass)) return undefined;
  if (partition === undefined || !PARTITION.test(partition)) return undefined;
  return { tenantToken, partition: Number(partition), runId, class: messageClass };
}

function isClass(token: string | undefined): token is MessageClass {
  return token === 'step' || token === 'delta' || token === 'stderr' || token === 'part';
}
