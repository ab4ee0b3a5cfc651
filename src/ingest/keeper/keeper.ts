import { BridgeError } from '../../errors.js';
import { isAlive } from '../child/process-identity.js';
import type { KeeperLink } from './link.js';
import type { SignalAnswer, SpawnAnswer, SpawnRequest } from './protocol.js';
import type { KeeperState } from './state-file.js';

const askTimeoutMs = 30_000;

/** The keeper of a data directory, as a bridge uses it. Calls may overlap. */
export interface Keeper {
  /** Pid of the process that answered last. */
  readonly pid: number;
  /**
   * Starts the child of a run; a run that has or had one gets the same answer again, so a call may be
   * repeated, also after a crash of either side. Throws `KEEPER_UNREACHABLE`.
   */
  spawn(request: SpawnRequest): Promise<SpawnAnswer>;
  /**
   * Signals a child that was not reaped yet. Never sent twice by itself: `KEEPER_UNREACHABLE` as the
   * error means that it is not known whether it was sent.
   */
  signal(runId: string, signal: NodeJS.Signals, group: boolean): Promise<SignalAnswer>;
  /** Has the keeper end as soon as it has no children and no bridge. Throws `KEEPER_UNREACHABLE`. */
  stop(): Promise<void>;
  /** Lets go of the keeper, which lives on with its children. Safe twice. */
  close(): void;
  [Symbol.dispose](): void;
}

/** A connection, and who is at its other end. */
export interface LinkedKeeper {
  readonly link: KeeperLink;
  readonly state: KeeperState;
}

/** Links again, and starts another keeper, when the one it had is gone. */
export class KeeperClient implements Keeper {
  readonly #open: () => Promise<LinkedKeeper>;
  #current: LinkedKeeper;
  #opening: Promise<LinkedKeeper> | undefined;
  #closed = false;

  constructor(open: () => Promise<LinkedKeeper>, current: LinkedKeeper) {
    this.#open = open;
    this.#current = current;
  }

  get pid(): number {
    return this.#current.state.pid;
  }

  async spawn(request: SpawnRequest): Promise<SpawnAnswer> {
    try {
      return await this.#spawnOnce(request);
    } catch (error) {
      if (this.#closed) throw error;
      // The answer was lost: the same run asked again gives the same child.
      return await this.#spawnOnce(request);
    }
  }

  async signal(runId: string, signal: NodeJS.Signals, group: boolean): Promise<SignalAnswer> {
    try {
      const { link } = await this.#linked();
      const { error } = await link.ask('signal', { runId, signal, group }, askTimeoutMs);
      return typeof error === 'string' ? { error } : { sent: true };
    } catch {
      return { error: 'KEEPER_UNREACHABLE' };
    }
  }

  async stop(): Promise<void> {
    const { link } = await this.#linked();
    await link.ask('stop', {}, askTimeoutMs);
  }

  close(): void {
    this.#closed = true;
    this.#current.link.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #spawnOnce(request: SpawnRequest): Promise<SpawnAnswer> {
    const { link } = await this.#linked();
    const { pid, startTime, error, message } = await link.ask('spawn', request, askTimeoutMs);
    if (typeof pid === 'number' && typeof startTime === 'string') return { pid, startTime };
    return { error: String(error), message: String(message) };
  }

  async #linked(): Promise<LinkedKeeper> {
    if (this.#closed) throw new BridgeError('KEEPER_UNREACHABLE', 'this keeper was closed');
    // One that has just died may still look connected: what it was asked then might have been done.
    if (this.#current.link.isOpen && isAlive(this.#current.state)) return this.#current;
    this.#current.link.close();
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    const opened = await this.#opening;
    this.#current = opened;
    if (this.#closed) opened.link.close();
    return opened;
  }
}
