/** Last token of a message's subject; says what the message holds (`hep.event.v1.EventClass`). */
export type MessageClass = 'step' | 'delta' | 'stderr' | 'part';

/** One message for the log: an encoded `EventBatch` and what its headers and subject need. */
export interface Commit {
  readonly class: MessageClass;
  /** First sequence in the body, inclusive. */
  readonly firstSequence: number;
  /** Last sequence in the body, inclusive. */
  readonly lastSequence: number;
  /** The `EventBatch`. Belongs to the log from now on: the caller never touches it again. */
  readonly body: Uint8Array;
}

/**
 * Where a run's owner commits, one message after the other. The implementation keeps the chain: a
 * message is stored only on top of this writer's own last one.
 */
export interface RunLog {
  /**
   * Resolves when the message is stored, however often the broker has to be asked; at most one call
   * is in flight. Rejects with `FENCED` if another writer owns the run (then nothing more may be
   * written, ever), `HISTORY_GONE` if retention took the run's messages away, and with the signal's
   * reason if the owner gives up waiting.
   */
  commit(commit: Commit): Promise<void>;
  /**
   * Looks whether this writer still has the run; rejects with `FENCED` if another one wrote to it, with
   * `LOG_UNAVAILABLE` if the log does not answer. Without a connection nothing is looked at. May be
   * called while a commit is in flight.
   */
  verify(): Promise<void>;
  /**
   * After `HISTORY_GONE`: lets the next commit begin the chain anew, if the log holds no message of
   * the run and so none of another owner; otherwise rejects with `FENCED`.
   */
  restartChain(): Promise<void>;
}
