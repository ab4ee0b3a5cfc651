import { setTimeout as delay } from 'node:timers/promises';
import { type Metadata, Server, type ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { EventService } from '#gen/hep/bridge/v1/event_service_pb.js';
import { IngestService } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { RunService } from '#gen/hep/bridge/v1/run_service_pb.js';
import type { LogReader } from '../log/log-reader.js';
import { type CallHost, draining } from './call-host.js';
import { eventService } from './event-service.js';
import { ingestService } from './ingest-service.js';
import { listen } from './listen.js';
import { createLiveWindow, type WindowLimits } from './live-window.js';
import { addReflection } from './reflection.js';
import type { LookupRun } from './run-lookup.js';
import { runService } from './run-service.js';
import type { Caller, Runs } from './runs.js';
import { defineService } from './service-definition.js';

/** Limits of the serve room, with their defaults. */
interface ServeLimits extends WindowLimits {
  /** Subscribe and Ingest calls at once; default 4,096. */
  readonly maxStreams: number;
  /** RunService calls at once; default 1,024. */
  readonly maxUnaryCalls: number;
  /** Bytes of one request; default 4 MiB. */
  readonly maxRequestBytes: number;
}

export interface ServerOptions {
  /** `host:port`; port 0 = any. */
  readonly listen: string;
  readonly runs: Runs;
  readonly logReader: LogReader;
  readonly lookupRun: LookupRun;
  /** Secret for cursors: the same for all gateways of one log, and kept when the log is made anew. */
  readonly cursorKey: Uint8Array;
  /** Default: everybody is the tenant `default`, without a name. */
  readonly authenticate?: (metadata: Metadata) => Caller;
  /** Default: without TLS. */
  readonly credentials?: ServerCredentials;
  /** Serve grpc.reflection; default false. */
  readonly reflection?: boolean;
  readonly limits?: Partial<ServeLimits>;
  /** How long clients shall wait before they come back after `close`; default 1 s. */
  readonly drainRetryMs?: number;
  /** How long `close` waits for clients to take what was sent; default 5 s. */
  readonly closeMs?: number;
}

/** A running gRPC server. */
export interface RunningServer extends AsyncDisposable {
  /** `host:port` with the real port. */
  readonly address: string;
  readonly port: number;
  /** Streams (Subscribe, Ingest) in progress. */
  openStreams(): number;
  /** Says in grpc.health.v1 whether calls can be served; true at start. */
  setServing(isServing: boolean): void;
  /**
   * Refuses new calls, tells streams that the gateway goes away and ends them with UNAVAILABLE, lets unary
   * calls finish, and cuts what is left after `closeMs`. Safe twice.
   */
  close(): Promise<void>;
}

const defaults: ServeLimits = {
  maxBytes: 16 * 1024 * 1024,
  maxMessages: 65_536,
  maxStreams: 4_096,
  maxUnaryCalls: 1_024,
  maxRequestBytes: 4 * 1024 * 1024,
};
/** Finds out clients that vanished without closing their connection. */
const keepaliveMs = 30_000;
const keepaliveTimeoutMs = 10_000;
/** Time between the gateway's last commit and the end of its streams. */
const settleMs = 300;
const serviceNames = [EventService.typeName, RunService.typeName, IngestService.typeName];

/** Serves the API. Fails with `ADDRESS_IN_USE`, or `CONFIG_INVALID` if it cannot listen there. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const limits: ServeLimits = { ...defaults, ...options.limits };
  const { drainRetryMs = 1_000, closeMs = 5_000 } = options;
  const host: CallHost = {
    authenticate: options.authenticate ?? (() => ({ tenant: 'default', actor: '' })),
    unary: new Set(),
    streams: new Set(),
    maxUnary: limits.maxUnaryCalls,
    maxStreams: limits.maxStreams,
    isDraining: false,
    drainRetryMs,
  };
  const server = new Server({
    'grpc.max_receive_message_length': limits.maxRequestBytes,
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
  });
  const room = {
    reader: options.logReader,
    window: createLiveWindow(options.logReader, limits),
    lookupRun: options.lookupRun,
    cursorKey: options.cursorKey,
  };
  server.addService(defineService(EventService), eventService(host, room));
  server.addService(defineService(RunService), runService(host, options.runs));
  server.addService(defineService(IngestService), ingestService(host, options.runs));
  const health = new HealthImplementation();
  const setServing = (isServing: boolean): void => {
    for (const name of ['', ...serviceNames]) {
      health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING');
    }
  };
  setServing(true);
  health.addToServer(server);
  if (options.reflection === true) await addReflection(server);
  const port = await listen(server, options.listen, options.credentials);
  const address = options.listen.replace(/:\d*$/, `:${port}`);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown(server, host, setServing, closeMs);
    return closing;
  };
  return {
    address,
    port,
    openStreams: () => host.streams.size,
    setServing,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Lets the ends that were just committed reach their readers. */
async function settle({ streams }: CallHost): Promise<void> {
  const untilMs = performance.now() + settleMs;
  while (streams.size > 0 && performance.now() < untilMs) await delay(settleMs / 10);
}

async function shutDown(
  server: Server,
  host: CallHost,
  setServing: (isServing: boolean) => void,
  closeMs: number,
): Promise<void> {
  host.isDraining = true;
  setServing(false);
  await settle(host);
  for (const stream of host.streams) stream.abort(draining(host));
  await new Promise<void>((resolve) => {
    // tryShutdown waits for every stream, also for one whose client does not read (and for health watches).
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, closeMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
