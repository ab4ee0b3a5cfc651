import type { IngestRequest, IngestResponse } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type {
  CancelRunRequest,
  CancelRunResponse,
  GetRunRequest,
  GetRunResponse,
  ListRunsRequest,
  ListRunsResponse,
  StartRunRequest,
  StartRunResponse,
} from '#gen/hep/bridge/v1/run_service_pb.js';

/** Who calls. */
export interface Caller {
  /** Tenant of the caller, unescaped. */
  readonly tenant: string;
  /** Name for `actor` fields; empty when callers are not told apart. */
  readonly actor: string;
}

/**
 * What the gRPC handlers of RunService and IngestService call; the gateway implements it. Every
 * function fails with a `BridgeError`, and resolves with a complete response message.
 */
export interface Runs {
  start(request: StartRunRequest, caller: Caller): Promise<StartRunResponse>;
  get(request: GetRunRequest, caller: Caller): Promise<GetRunResponse>;
  list(request: ListRunsRequest, caller: Caller): Promise<ListRunsResponse>;
  cancel(request: CancelRunRequest, caller: Caller): Promise<CancelRunResponse>;
  /**
   * One Ingest call. Pulls requests only as fast as they can be taken (that is the back-pressure),
   * returns after `finished`, throws to end the call with a status. `signal` aborts when the
   * client is gone.
   */
  ingest(
    requests: AsyncIterable<IngestRequest>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncIterable<IngestResponse>;
}
