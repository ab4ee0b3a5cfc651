import { setMaxListeners } from 'node:events';
import type { NatsConnection } from '@nats-io/transport-node';
import { v4 as uuidv4 } from 'uuid';
import { Run_State } from '#gen/hep/bridge/v1/run_pb.js';
import { createClosers } from './closers.js';
import { cancelRun } from './control/cancel/cancel-run.js';
import type { ControlContext } from './control/context.js';
import { createOwnerLink } from './control/ctl/owner-link.js';
import { serveCtl } from './control/ctl/serve-ctl.js';
import { adoptIngestRuns } from './control/feed/adopt-ingest-runs.js';
import { ingestCall } from './control/feed/ingest-call.js';
import { openIngestLedger } from './control/feed/ingest-ledger.js';
import type { Logger } from './control/logger.js';
import { adoptRuns } from './control/own/adopt-runs.js';
import { drainRuns } from './control/own/drain-runs.js';
import { endRuns } from './control/own/end-runs.js';
import { watchPolicies } from './control/own/policy-watch.js';
import { watchSpace } from './control/own/space-watch.js';
import { endStrayRuns } from './control/owners/end-strays.js';
import { beatMsOf, keepOwner } from './control/owners/keep-owner.js';
import { createOwnerWatch } from './control/owners/owner-watch.js';
import { findRecord, getRun, listRuns } from './control/read-runs.js';
import type { Profiles } from './control/start/profile.js';
import { createProfileProbes } from './control/start/profile-probes.js';
import { createStartRate } from './control/start/start-rate.js';
import { startRun } from './control/start/start-run.js';
import { BridgeError } from './errors.js';
import { createClock } from './ingest/clock.js';
import { type EnsureKeeperOptions, ensureKeeper } from './ingest/keeper/ensure-keeper.js';
import type { RunLimits } from './ingest/run.js';
import { connectNats, type NatsAccess, withoutSecrets } from './log/connect.js';
import { lockDataDir, ownerIdOf } from './log/data-dir-lock.js';
import { openLog } from './log/open-log.js';
import { openPrivateServer, type PrivateServer } from './log/private-server/private-server.js';
import { serverStateFile } from './log/private-server/server-state.js';
import type { Durability } from './log/private-server/start-server.js';
import type { StreamOptions } from './log/stream.js';
import { type RunningServer, startServer } from './serve/server.js';
import { statusOf } from './serve/status.js';
import { BRIDGE_VERSION } from './version.js';

/** What a gateway needs to know; a configuration file and flags make it. */
export interface GatewayOptions {
  /** `host:port`; port 0: any. */
  readonly listen: string;
  /** Made if it is not there. */
  readonly dataDir: string;
  /** An existing NATS; undefined: a private server in the data directory. */
  readonly nats: NatsAccess | undefined;
  /** Path of the private server's program; undefined: the package's own, or the one on PATH. */
  readonly natsServer: string | undefined;
  /** Of the private server. */
  readonly durability: Durability;
  readonly stream: StreamOptions;
  readonly limits: RunLimits;
  /** Live runs of this gateway. */
  readonly maxRuns: number;
  readonly maxStartsPerSecond: number;
  /** Free bytes of the data directory's file system below which no run is started. */
  readonly reserveBytes: number;
  /** Bytes that the spools of all runs may take; 0: no quota. Beyond it the largest run is cancelled. */
  readonly spoolQuotaBytes: number;
  readonly reconnectWindowMs: number;
  readonly interruptGraceMs: number;
  readonly terminateGraceMs: number;
  readonly strict: boolean;
  readonly reflection: boolean;
  /** Another gateway that is silent for so long has lost its runs; all gateways have the same. */
  readonly lostAfterMs: number;
  /**
   * What `close` does with live runs: cancel their agents; wait for the ends first (`drain`); or leave
   * them for the next bridge. Runs that clients feed go on with another gateway, or the next one.
   */
  readonly onStop: 'drain' | 'cancel' | 'leave';
  /** How long `drain` waits before it cancels. */
  readonly drainLimitMs: number;
  readonly profiles: Profiles;
}

/** A running gateway. */
export interface Gateway extends AsyncDisposable {
  /** `host:port` of its gRPC server, with the real port. */
  readonly address: string;
  readonly natsUrl: string;
  /** Where the private server's port and token stand (mode 0600); undefined without one. */
  readonly natsStateFile: string | undefined;
  /** Takes other profiles for the starts to come, and asks their agents what they speak. */
  reloadProfiles(profiles: Profiles): void;
  /** Stops; safe twice. */
  close(): Promise<void>;
}

/**
 * Opens all that a gateway needs, from the data directory's lock to the gRPC server, takes up the
 * runs that an earlier one left, and serves. What was opened is closed again if a later step fails, or
 * `abort` ends the start.
 */
export async function startGateway(
  options: GatewayOptions,
  logger: Logger,
  abort?: AbortSignal,
): Promise<Gateway> {
  const { dataDir, lostAfterMs } = options;
  const stopping = new AbortController();
  // Each live run listens.
  setMaxListeners(0, stopping.signal);
  const stop = (): void => {
    stopping.abort(new BridgeError('DRAINING', 'the gateway has stopped'));
  };
  abort?.addEventListener('abort', stop, { once: true });
  if (abort?.aborted === true) stop();
  await using opened = createClosers();
  const lock = await lockDataDir(dataDir);
  opened.defer(() => lock.release());

  const server = options.nats === undefined ? await privateServer(options, logger) : undefined;
  if (server !== undefined) opened.defer(() => server.close());
  const access = options.nats ?? privateAccess(server);
  const natsUrl = access.url.split(',').map(withoutSecrets).join(',');
  const connection = await connectNats(access, `hep-bridge ${BRIDGE_VERSION}`);
  opened.defer(() => connection.close());
  const { maxMessageBytes } = options.limits;
  const log = await openLog(connection, { ...options.stream, maxMessageBytes });

  const keeperOptions: EnsureKeeperOptions = { dataDir };
  const keeper = await ensureKeeper(keeperOptions);
  opened.defer(async () => {
    if (options.onStop !== 'leave') await keeper.stop();
    keeper.close();
  });

  const ownerId = ownerIdOf(dataDir, uuidv4);
  const context: ControlContext = {
    ...options,
    ownerId,
    bridgeVersion: BRIDGE_VERSION,
    clock: createClock(),
    keeper,
    reader: log.reader,
    index: log.index,
    cancels: log.cancels,
    logger,
    stopping: stopping.signal,
    openLog: ({ subjectPrefix, lastStreamSequence, requestHash }) =>
      log.writer({
        subjectPrefix,
        writerId: ownerId,
        lastStreamSequence,
        requestHash,
        signal: stopping.signal,
        onWaiting: (why) => logger.warn({ subject: subjectPrefix }, `a commit waits: ${why}`),
      }),
    claiming: new Set(),
    owned: new Map(),
    ingestSources: new Map(),
    ingestLedger: openIngestLedger(dataDir),
    ingestTakeUps: new Map(),
    profiles: { current: options.profiles },
    probes: createProfileProbes({ dataDir, logger, signal: stopping.signal }),
    startRate: createStartRate(options.maxStartsPerSecond, () => performance.now()),
    owners: log.owners,
    ownerWatch: createOwnerWatch({ lostAfterMs, maxGapMs: 4 * beatMsOf(lostAfterMs) }),
    ownerLink: createOwnerLink(connection),
    intake: { isDraining: false, beatenMs: 0 },
    strays: { dueMs: Number.POSITIVE_INFINITY },
  };
  opened.defer(stop);
  context.probes.ask(options.profiles);
  await keepOwner(context);
  opened.defer(watchSpace(context));
  opened.defer(watchPolicies(context.owned));
  const adopted = (await adoptRuns(context)) + (await adoptIngestRuns(context));

  stopping.signal.throwIfAborted();
  opened.defer(await serveCtl(context, connection, ({ code }) => statusOf(code)));
  const grpc = await startServer({
    listen: options.listen,
    logReader: log.reader,
    cursorKey: log.cursorKey,
    reflection: options.reflection,
    lookupRun: async (tenant, runId) => {
      const record = await findRecord(context, { tenant, actor: '' }, runId);
      if (record === undefined) return undefined;
      const { run, subjectPrefix } = record;
      const finished = run.state === Run_State.FINISHED;
      return { subjectPrefix, labels: run.labels, partitionKey: run.partitionKey, finished };
    },
    runs: {
      start: (request, caller) => startRun(context, request, caller),
      get: (request, caller) => getRun(context, request, caller),
      list: (request, caller) => listRuns(context, request, caller),
      cancel: (request, caller) => cancelRun(context, request, caller),
      ingest: (requests, caller, signal) => ingestCall(context, requests, caller, signal),
    },
  });
  opened.defer(() => grpc.close());
  watchConnection(connection, grpc, context);
  opened.defer(async () => {
    context.intake.isDraining = true;
    grpc.setServing(false);
    if (options.onStop === 'drain') await drainRuns(context, options.drainLimitMs);
    if (options.onStop !== 'leave') await endRuns(context);
  });
  abort?.removeEventListener('abort', stop);
  void endStrayRuns(context);
  logger.info({ address: grpc.address, nats: natsUrl, adopted }, 'gateway is ready');

  const all = opened.move();
  const close = (): Promise<void> => all.close();
  return {
    address: grpc.address,
    natsUrl,
    reloadProfiles(profiles) {
      context.profiles.current = profiles;
      context.probes.ask(profiles);
    },
    natsStateFile: server === undefined ? undefined : serverStateFile(dataDir),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function privateServer(options: GatewayOptions, logger: Logger): Promise<PrivateServer> {
  const server = await openPrivateServer({
    dataDir: options.dataDir,
    binary: options.natsServer,
    durability: options.durability,
    onRestart: (state) => {
      if (state instanceof Error) logger.error({}, `nats-server not restarted: ${state.message}`);
      else logger.warn({ pid: state.pid }, 'the private nats-server died and was started again');
    },
  });
  const { pid, adopted } = server;
  logger.info({ pid, adopted }, 'private nats-server is up');
  return server;
}

function privateAccess(server: PrivateServer | undefined): NatsAccess {
  if (server === undefined) throw new BridgeError('INTERNAL', 'neither a NATS URL nor a server');
  return { url: server.url, token: server.token };
}

/** While NATS is away the gateway cannot serve: grpc.health.v1 says so. */
function watchConnection(
  connection: NatsConnection,
  grpc: RunningServer,
  { logger, intake }: ControlContext,
): void {
  async function watch(): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type !== 'disconnect' && type !== 'reconnect') continue;
      grpc.setServing(type === 'reconnect' && !intake.isDraining);
      if (type === 'disconnect') logger.warn({}, 'NATS is away');
      else logger.info({}, 'NATS is back');
    }
  }
  // Ends with the connection, and does not fail.
  void watch();
}
