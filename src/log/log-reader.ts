import type { StoredMessage } from './stored-message.js';

/** Where the stream stands. */
export interface LogBounds {
  /** Changes when the stream is deleted and made again; at most 32 characters, base64url. */
  readonly identity: string;
  /** Oldest stream sequence kept; last + 1 if the stream is empty. */
  readonly firstStreamSequence: number;
  /** Newest stream sequence; 0 if there never was one. */
  readonly lastStreamSequence: number;
}

/**
 * Reads the log. All functions fail with `LOG_UNAVAILABLE` if NATS does not answer. Messages that no
 * bridge wrote are passed over by `read` and `tail`; where one stands for a run, `lastOfRun` and
 * `firstOfRun` fail with `LOG_HOLE`.
 */
export interface LogReader {
  bounds(): Promise<LogBounds>;
  /** A run's newest message, from the leader; `subjectPrefix` without the class token. */
  lastOfRun(subjectPrefix: string): Promise<StoredMessage | undefined>;
  /** A run's oldest message kept, from the leader. */
  firstOfRun(subjectPrefix: string): Promise<StoredMessage | undefined>;
  /**
   * History: the messages whose subject matches `filter`, from `fromStreamSequence` (inclusive) up
   * to the newest one there is when the reader gets there; then it returns. Pulls at most about
   * 1 MiB ahead of its consumer. Arrays are never empty. Waits up to a minute for NATS to come back.
   */
  read(
    filter: string,
    fromStreamSequence: number,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredMessage[]>;
  /**
   * Everything committed from `fromStreamSequence` on (inclusive), in stream order, without end and
   * without a hole: what one ordered pull consumer delivers, with its credit in bytes. Survives a
   * broker restart. Throws `STREAM_RECREATED` if the stream was deleted and made again.
   */
  tail(fromStreamSequence: number, signal: AbortSignal): AsyncIterable<readonly StoredMessage[]>;
}
