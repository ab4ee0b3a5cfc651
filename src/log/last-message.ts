import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { BridgeError } from '../errors.js';
import { HEADER, STREAM } from './names.js';

/** The newest message of a filter, as far as a writer needs it. */
export interface LastMessage {
  readonly streamSequence: number;
  readonly subject: string;
  /** `Hep-Commit`; empty if it has none. */
  readonly commit: string;
  readonly body: Uint8Array;
}

/**
 * Reads from the stream's leader (`STREAM.MSG.GET`): a follower could still show an older one.
 * Undefined if no message matches; `LOG_UNAVAILABLE` if nobody answers.
 */
export async function readLastMessage(
  manager: JetStreamManager,
  subjectFilter: string,
): Promise<LastMessage | undefined> {
  try {
    const message = await manager.streams.getMessage(STREAM, { last_by_subj: subjectFilter });
    if (message === null) return undefined;
    return {
      streamSequence: message.seq,
      subject: message.subject,
      commit: message.header.get(HEADER.commit),
      body: message.data,
    };
  } catch (thrown) {
    const code = thrown instanceof JetStreamApiError ? ` (${thrown.code})` : '';
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BridgeError('LOG_UNAVAILABLE', `NATS does not answer: ${text}${code}`, {
      cause: thrown,
      retryAfterMs: 1_000,
    });
  }
}
