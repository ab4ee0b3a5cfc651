/**
 * Stable codes for programs. Each has one gRPC status in `serve/status.ts` and one exit code in
 * `cli/exit-code.ts`; both tables are total, so a new code does not compile until it is mapped.
 */
export type Code =
  | 'INVALID_REQUEST'
  | 'RUN_NOT_FOUND'
  | 'RUN_EXISTS'
  | 'RUN_FINISHED'
  | 'PROFILE_NOT_FOUND'
  | 'PROFILE_UNUSABLE'
  | 'AGENT_UNSUPPORTED'
  | 'CURSOR_INVALID'
  | 'CURSOR_AHEAD'
  | 'HISTORY_GONE'
  | 'STREAM_RECREATED'
  | 'LOG_HOLE'
  | 'EXPORT_INCOMPLETE'
  | 'LOG_UNAVAILABLE'
  | 'OWNER_UNREACHABLE'
  | 'DRAINING'
  | 'LIMIT_REACHED'
  | 'INGEST_GAP'
  | 'INGEST_TAKEN_OVER'
  | 'FENCED'
  | 'CANCELLED'
  | 'BRIDGE_UNREACHABLE'
  | 'DATA_DIR_IN_USE'
  | 'DATA_DIR_INVALID'
  | 'ADDRESS_IN_USE'
  | 'NATS_UNREACHABLE'
  | 'NATS_SERVER_MISSING'
  | 'KEEPER_UNREACHABLE'
  | 'CONFIG_INVALID'
  | 'USAGE'
  | 'INTERNAL';

/** One field of a request that was refused. */
export interface FieldViolation {
  /** Path in the request, e.g. `labels["team"]`. */
  readonly field: string;
  /** What is wrong and what would be right. */
  readonly description: string;
}

export interface BridgeErrorOptions {
  readonly cause?: unknown;
  /** For `INVALID_REQUEST`. */
  readonly fields?: readonly FieldViolation[];
  /** Milliseconds after which a retry makes sense; for codes that are worth a retry. */
  readonly retryAfterMs?: number;
  /** Machine-readable facts that go into `ErrorInfo.metadata`, e.g. `first_sequence`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * The one error that crosses rooms: a stable code, and a message for people that names the thing
 * and the remedy.
 */
export class BridgeError extends Error {
  override readonly name = 'BridgeError';
  readonly code: Code;
  readonly fields: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, options: BridgeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.metadata = options.metadata ?? {};
  }
}

/** Any thrown value as a `BridgeError`; what is not one already becomes `INTERNAL`. */
export function toBridgeError(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BridgeError('INTERNAL', message, { cause: thrown });
}
