import type { ClockUs } from '../ingest/clock.js';
import type { Keeper } from '../ingest/keeper/keeper.js';
import type { RunLimits } from '../ingest/run.js';
import type { RunLog } from '../ingest/run-log.js';
import type { CancelStore } from '../log/cancel-store.js';
import type { LogReader } from '../log/log-reader.js';
import type { OwnerStore } from '../log/owner-store.js';
import type { RunIndex } from '../log/run-index.js';
import type { OwnerLink } from './ctl/owner-link.js';
import type { IngestLedger } from './feed/ingest-ledger.js';
import type { IngestSource } from './feed/ingest-source.js';
import type { TakenUp } from './feed/take-up-ingest-run.js';
import type { Logger } from './logger.js';
import type { OwnedRun } from './own/owned-run.js';
import type { OwnerWatch } from './owners/owner-watch.js';
import type { Profiles } from './start/profile.js';
import type { ProfileProbes } from './start/profile-probes.js';
import type { StartRate } from './start/start-rate.js';
import type { Strays } from './strays.js';

/** A run's place in the log, for a writer to begin or to go on. */
export interface RunPlace {
  readonly subjectPrefix: string;
  /** Stream sequence of the run's last message; 0 for a new run. */
  readonly lastStreamSequence: number;
  /** SHA-256 of the start request in hex; goes with a new run's first message. */
  readonly requestHash: string;
}

/** Whether the gateway takes new runs. */
export interface Intake {
  /** It goes away. */
  isDraining: boolean;
  /** When its last heartbeat was acknowledged, on the monotonic clock. */
  beatenMs: number;
}

/** What the functions of this room share; made once, by the gateway. */
export interface ControlContext {
  /** Stable id of this data directory's gateways. */
  readonly ownerId: string;
  readonly bridgeVersion: string;
  readonly dataDir: string;
  readonly clock: ClockUs;
  readonly limits: RunLimits;
  readonly maxRuns: number;
  readonly reserveBytes: number;
  readonly spoolQuotaBytes: number;
  readonly reconnectWindowMs: number;
  readonly interruptGraceMs: number;
  readonly terminateGraceMs: number;
  readonly strict: boolean;
  readonly profiles: { current: Profiles };
  readonly probes: ProfileProbes;
  readonly startRate: StartRate;
  readonly keeper: Keeper;
  readonly reader: LogReader;
  readonly index: RunIndex;
  readonly cancels: CancelStore;
  readonly logger: Logger;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  /** A writer for a run; its `commit` keeps trying until `stopping`. */
  openLog(place: RunPlace): RunLog & { readonly lastStreamSequence: number };
  /** Runs whose start is between their record and their first event. */
  readonly claiming: Set<string>;
  /** Runs that this gateway writes now, by run id. */
  readonly owned: Map<string, OwnedRun>;
  readonly ingestLedger: IngestLedger;
  /** Sources of those that come through Ingest. */
  readonly ingestSources: Map<string, IngestSource>;
  /** Those that are being taken up at this moment. */
  readonly ingestTakeUps: Map<string, Promise<TakenUp | undefined>>;
  readonly owners: OwnerStore;
  readonly ownerWatch: OwnerWatch;
  readonly ownerLink: OwnerLink;
  /** An owner that is silent for so long has lost its runs. */
  readonly lostAfterMs: number;
  readonly intake: Intake;
  readonly strays: Strays;
}
