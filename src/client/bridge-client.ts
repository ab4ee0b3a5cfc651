import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  SubscribeRequestSchema,
  SubscribeResponse,
} from '#gen/hep/bridge/v1/event_service_pb.js';
import type { IngestRequest, IngestResponse } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import type {
  CancelRunRequestSchema,
  CancelRunResponse,
  ListRunsRequestSchema,
  ListRunsResponse,
  StartRunRequestSchema,
  StartRunResponse,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import type { Event } from '#gen/hep/event/v1/event_pb.js';

export interface CallOptions {
  /** Ends the call; its reason is what the call fails with. */
  readonly signal?: AbortSignal;
}

export interface UnaryOptions extends CallOptions {
  /** Default 30 s; the call then fails with `BRIDGE_UNREACHABLE`. */
  readonly timeoutMs?: number;
}

/** One event with what its batch says about it. */
export interface RunEvent {
  readonly runId: string;
  readonly sequence: number;
  /** When the event's last byte was read, in microseconds since 1970. */
  readonly timeUs: number;
  /** For `originalLine`; see `EventBatch.canonical_form`. */
  readonly canonicalForm: number;
  readonly event: Event;
}

/** What a subscription says besides events. */
type SubscriptionNotice =
  | { readonly kind: 'caughtUp' | 'fellBehind' | 'heartbeat' | 'draining' }
  | { readonly kind: 'reconnecting'; readonly error: Error; readonly waitMs: number };

export interface SubscribeOptions extends CallOptions {
  /** Gives up after so long without an answer once the subscription had begun; default 30 s. */
  readonly retryForMs?: number;
  readonly onNotice?: (notice: SubscriptionNotice) => void;
}

/** One connection to a bridge. All functions fail with a `BridgeError`, and may be used at once. */
export interface BridgeClient extends AsyncDisposable {
  startRun(
    request: MessageInitShape<typeof StartRunRequestSchema>,
    options?: UnaryOptions,
  ): Promise<StartRunResponse>;
  getRun(runId: string, options?: UnaryOptions): Promise<Run>;
  /** One page. */
  listRuns(
    request: MessageInitShape<typeof ListRunsRequestSchema>,
    options?: UnaryOptions,
  ): Promise<ListRunsResponse>;
  cancelRun(
    request: MessageInitShape<typeof CancelRunRequestSchema>,
    options?: UnaryOptions,
  ): Promise<CancelRunResponse>;
  /**
   * The events of a run, up to RunFinished, or of a filter, without end. Each comes once and in order: it
   * reconnects by cursor, puts big events together and fails with `LOG_HOLE` if an event is missing.
   */
  subscribe(
    request: MessageInitShape<typeof SubscribeRequestSchema>,
    options?: SubscribeOptions,
  ): AsyncIterable<RunEvent>;
  /** One Subscribe call as it is: no reconnect, no check. */
  subscribeOnce(
    request: MessageInitShape<typeof SubscribeRequestSchema>,
    options?: CallOptions,
  ): AsyncIterable<SubscribeResponse>;
  /** One Ingest call as it is. `requests` is pulled as fast as the bridge takes them. */
  ingest(
    requests: AsyncIterable<IngestRequest>,
    options?: CallOptions,
  ): AsyncIterable<IngestResponse>;
  /** Ends all calls. Safe twice. */
  close(): Promise<void>;
}
