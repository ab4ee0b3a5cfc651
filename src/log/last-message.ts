import type { JetStreamManager } from '@nats-io/jetstream';
import { asUnavailable } from './as-unavailable.js';
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
 * The newest message of a filter, from the stream's leader (`STREAM.MSG.GET`): a follower could still
 * show an older one. Undefined if no message matches; `LOG_UNAVAILABLE` if nobody answers.
 */
export function readLastMessage(
  manager: JetStreamManager,
  subjectFilter: string,
): Promise<LastMessage | undefined> {
  return readMessage(manager, { last_by_subj: subjectFilter });
}

/** The oldest message of a filter, likewise. */
export function readFirstMessage(
  manager: JetStreamManager,
  subjectFilter: string,
): Promise<LastMessage | undefined> {
  return readMessage(manager, { seq: 1, next_by_subj: subjectFilter });
}

async function readMessage(
  manager: JetStreamManager,
  query:
    | { readonly last_by_subj: string }
    | { readonly seq: number; readonly next_by_subj: string },
): Promise<LastMessage | undefined> {
  const message = await asUnavailable('reading the log', () =>
    manager.streams.getMessage(STREAM, query),
  );
  if (message === null) return undefined;
  return {
    streamSequence: message.seq,
    subject: message.subject,
    commit: message.header.get(HEADER.commit),
    body: message.data,
  };
}
