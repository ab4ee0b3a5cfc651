import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';
import type { BridgeClient, RunEvent } from '../../src/client/bridge-client.js';
import { connectBridge } from '../../src/client/connect-bridge.js';
import type { Logger } from '../../src/control/logger.js';
import type { Profile } from '../../src/control/start/profile.js';
import { type Gateway, type GatewayOptions, startGateway } from '../../src/gateway.js';
import { originalLine } from '../../src/hep/original-line.js';
import { DEFAULT_RUN_LIMITS } from '../../src/ingest/run.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';

const CHILDREN = fileURLToPath(new URL('../golden/children/', import.meta.url));

export const quietLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A profile that runs a command without a prompt parameter and with short graces. */
export function profileOf(command: readonly string[], options: Partial<Profile> = {}): Profile {
  return {
    command,
    cwd: undefined,
    envAllow: ['PATH'],
    envSet: {},
    envFiles: {},
    prompt: 'file',
    session: undefined,
    output: 'events',
    probe: undefined,
    parameters: {},
    interruptGraceMs: 700,
    terminateGraceMs: 700,
    strict: undefined,
    policies: {},
    ...options,
  };
}

/** The stand-in agents of test/golden/children by their first three letters, and `sh`. */
export function standInProfiles(): Record<string, Profile> {
  const profiles: Record<string, Profile> = {
    missing: profileOf(['/no/such/agent']),
    sh: profileOf(['sh', '{prompt_file}']),
    long: profileOf(['sh', '{prompt_file}'], { interruptGraceMs: 1_500, terminateGraceMs: 1_500 }),
  };
  for (const name of readdirSync(CHILDREN)) {
    if (/\.(sh|mjs)$/.test(name)) profiles[name.slice(0, 3)] = profileOf([join(CHILDREN, name)]);
  }
  return profiles;
}

export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly client: BridgeClient;
  readonly dataDir: string;
}

export const TEST_OPTIONS: Omit<GatewayOptions, 'dataDir' | 'profiles'> = {
  listen: '127.0.0.1:0',
  nats: undefined,
  natsServer: undefined,
  durability: 'process',
  stream: DEFAULT_STREAM_OPTIONS,
  limits: DEFAULT_RUN_LIMITS,
  maxRuns: 300,
  maxStartsPerSecond: 1_000,
  reserveBytes: 0,
  spoolQuotaBytes: 0,
  reconnectWindowMs: 5_000,
  interruptGraceMs: 700,
  terminateGraceMs: 700,
  strict: false,
  reflection: false,
  lostAfterMs: 60_000,
  onStop: 'cancel',
  drainLimitMs: 10_000,
};

export function temporaryDir(): string {
  return mkdtempSync(join(tmpdir(), 'hep-gateway-'));
}

/** A gateway with a private nats-server in a temporary directory that goes with it. */
export async function openTestGateway(options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const dataDir = options.dataDir ?? temporaryDir();
  const profiles = standInProfiles();
  const gateway = await startGateway(
    { ...TEST_OPTIONS, profiles, ...options, dataDir },
    quietLogger,
  );
  const client = connectBridge(gateway.address);
  return {
    gateway,
    client,
    dataDir,
    async [Symbol.asyncDispose]() {
      await client.close();
      await gateway.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** All events of a run, to its end. */
export async function eventsOf(client: BridgeClient, runId: string): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  const request = { target: { case: 'runId' as const, value: runId } };
  for await (const event of client.subscribe({ ...request, includeStderr: true }))
    events.push(event);
  return events;
}

export function kindsOf(events: readonly RunEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.payload.case);
}

/** `OUTCOME / REASON` of a finished run. */
export function verdictOf(run: Run): string {
  return `${Outcome[run.outcome]} / ${OutcomeReason[run.outcomeReason]}`;
}

/** The source that the events stand for, by the rule of docs/protocol.md. */
export function rebuildSource(events: readonly RunEvent[]): Buffer {
  const last = events.at(-1)?.event;
  if (last?.payload.case !== 'runFinished') throw new Error('the run is not finished');
  const chunks: Uint8Array[] = [];
  for (const { event, canonicalForm } of events) {
    const line = originalLine(event, canonicalForm);
    if (line !== undefined) chunks.push(event.blankBefore, line, Buffer.from('\n'));
  }
  if (last.payload.value.unterminatedTail && last.blankBefore.length === 0) chunks.pop();
  return Buffer.concat([...chunks, last.blankBefore]);
}
