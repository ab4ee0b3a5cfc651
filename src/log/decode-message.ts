import type { MsgHdrs } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import { parseCommit } from './commit-header.js';
import { HEADER, STREAM } from './names.js';
import type { StoredMessage } from './stored-message.js';
import { parseSubject } from './subject.js';

/**
 * A message of the stream; undefined for one that no bridge wrote. Whoever may publish can put one
 * there: it is no event of any run, so readers pass over it.
 */
export function decodeMessage(
  streamSequence: number,
  subject: string,
  commitHeader: string,
  body: Uint8Array,
): StoredMessage | undefined {
  const parsed = parseSubject(subject);
  const mark = parseCommit(commitHeader);
  if (parsed === undefined || mark === undefined) return undefined;
  const { firstSequence, lastSequence } = mark;
  return { ...parsed, streamSequence, firstSequence, lastSequence, body };
}

/**
 * The same, where a message must be a run's own; throws `LOG_HOLE` if it is not, since then nothing
 * is known of where the run stands.
 */
export function decodeRunMessage(
  streamSequence: number,
  subject: string,
  commitHeader: string,
  body: Uint8Array,
): StoredMessage {
  const message = decodeMessage(streamSequence, subject, commitHeader, body);
  if (message !== undefined) return message;
  throw new BridgeError(
    'LOG_HOLE',
    `message ${streamSequence} of stream ${STREAM} (${subject}) was not written by a bridge`,
  );
}

export function commitOf(headers: MsgHdrs | undefined): string {
  return headers?.get(HEADER.commit) ?? '';
}
