import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import type { Commit, RunLog } from '../ingest/run-log.js';
import { type AckInbox, MESSAGE_TOO_LARGE } from './ack-inbox.js';
import { formatCommit, parseCommit } from './commit-header.js';
import { WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_UNKNOWN } from './is-wrong-last-sequence.js';
import type { LastMessage } from './last-message.js';
import { HEADER } from './names.js';

export interface RunWriterOptions {
  readonly inbox: AckInbox;
  /** Reads the newest message of a subject from the stream's leader; undefined if there is none. */
  readonly lastMessage: (subjectFilter: string) => Promise<LastMessage | undefined>;
  /** `hep.event.v1.<tenant>.<partition>.<run>`. */
  readonly subjectPrefix: string;
  /** Owner id, for the header. */
  readonly writerId: string;
  /** Stream sequence of the run's last message; 0 for a run that is not in the log. */
  readonly lastStreamSequence: number;
  /** SHA-256 of the start request in hex; goes with a new run's first message. */
  readonly requestHash: string;
  /** Gives up waiting; its reason is what `commit` then rejects with. */
  readonly signal: AbortSignal;
  /** Names what keeps a commit waiting, at most once per reason and commit. */
  readonly onWaiting?: (why: string) => void;
}

/** Writes one run's chain; see docs/architecture.md, "The chain". */
export interface RunWriter extends RunLog {
  /** Random per writer, so that a writer tells its own messages from another's. */
  readonly epoch: string;
  readonly lastStreamSequence: number;
}

const FIRST_TIMEOUT_MS = 2_000;
const MAX_TIMEOUT_MS = 15_000;
const RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
const UNSENT_RETRY_MS = 100;

/**
 * A message is stored only on top of this writer's last one: the server compares the run's last
 * stream sequence. What is not a clean acknowledgement is settled by reading that last message from
 * the leader: it is this commit, or its predecessor (send again), or another's (fenced).
 */
export function createRunWriter(options: RunWriterOptions): RunWriter {
  const { inbox, subjectPrefix, signal } = options;
  const filter = `${subjectPrefix}.*`;
  const epoch = randomBytes(8).toString('hex');
  let last = options.lastStreamSequence;
  let isFenced = false;

  function headersOf(commit: Commit): MsgHdrs {
    const all = headers();
    all.set(HEADER.expectedLastSubjectSequence, String(last));
    all.set(HEADER.expectedLastSubjectSequenceSubject, filter);
    all.set(HEADER.commit, formatCommit(epoch, commit));
    all.set(HEADER.writer, options.writerId);
    all.set(HEADER.contentType, 'application/protobuf');
    if (last === 0) all.set(HEADER.request, options.requestHash);
    return all;
  }

  function fenced(why: string): BridgeError {
    isFenced = true;
    return new BridgeError('FENCED', `${subjectPrefix}: another writer owns the run (${why})`);
  }

  /** True if the commit is stored after all; false if it must be sent again. */
  async function settle(commit: Commit): Promise<boolean> {
    const message = await options.lastMessage(filter);
    if (message === undefined) {
      if (last === 0) return false;
      throw new BridgeError('HISTORY_GONE', `${subjectPrefix}: the log no longer holds the run`);
    }
    if (message.streamSequence === last) return false;
    if (message.commit === formatCommit(epoch, commit) && message.streamSequence > last) {
      last = message.streamSequence;
      return true;
    }
    throw fenced(`last message ${message.streamSequence} is ${message.commit}`);
  }

  async function commit(message: Commit): Promise<void> {
    if (isFenced) throw fenced('decided before');
    let timeoutMs = FIRST_TIMEOUT_MS;
    let retryMs = RETRY_MS;
    let told = '';
    for (;;) {
      signal.throwIfAborted();
      const subject = `${subjectPrefix}.${message.class}`;
      const ack = await inbox.publish(subject, message.body, headersOf(message), timeoutMs);
      if (ack.kind === 'stored') {
        last = ack.streamSequence;
        return;
      }
      let why = ack.kind === 'refused' ? `${ack.description} (${ack.code})` : ack.why;
      if (ack.kind === 'refused' && ack.code === MESSAGE_TOO_LARGE) {
        throw new BridgeError('INTERNAL', `${subject}: ${message.body.length} bytes: ${why}`);
      }
      const isFence =
        ack.kind === 'refused' &&
        (ack.code === WRONG_LAST_SEQUENCE || ack.code === WRONG_LAST_SEQUENCE_UNKNOWN);
      // Without a connection nothing can be read; sending again is refused if this one landed.
      if (isFence || (ack.kind === 'unknown' && inbox.isConnected)) {
        try {
          if (await settle(message)) return;
        } catch (thrown) {
          if (thrown instanceof BridgeError && thrown.code !== 'LOG_UNAVAILABLE') throw thrown;
          why = thrown instanceof Error ? thrown.message : String(thrown);
        }
      }
      if (why !== told) options.onWaiting?.(why);
      told = why;
      timeoutMs = Math.min(MAX_TIMEOUT_MS, timeoutMs * 2);
      // Rejects with the signal's own reason by the check at the loop's head.
      const pauseMs = ack.kind === 'unsent' ? UNSENT_RETRY_MS : retryMs;
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    }
  }

  return {
    epoch,
    get lastStreamSequence() {
      return last;
    },
    commit,
    async verify() {
      if (isFenced) throw fenced('decided before');
      if (!inbox.isConnected) return;
      const expected = last;
      const message = await options.lastMessage(filter);
      if (message === undefined || message.streamSequence <= expected) return;
      if (parseCommit(message.commit)?.epoch === epoch) return;
      throw fenced(`last message ${message.streamSequence} is ${message.commit}`);
    },
    async restartChain() {
      let retryMs = RETRY_MS;
      for (;;) {
        signal.throwIfAborted();
        try {
          const message = await options.lastMessage(filter);
          if (message !== undefined) throw fenced(`the log holds ${message.commit} again`);
          last = 0;
          return;
        } catch (thrown) {
          if (thrown instanceof BridgeError && thrown.code !== 'LOG_UNAVAILABLE') throw thrown;
          options.onWaiting?.(thrown instanceof Error ? thrown.message : String(thrown));
        }
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
        retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
      }
    },
  };
}
