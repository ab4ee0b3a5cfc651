import type { MsgHdrs } from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';
import { parseCommit } from './commit-header.js';
import { HEADER, STREAM } from './names.js';
import type { StoredMessage } from './stored-message.js';
import { parseSubject } from './subject.js';

/**
 * A message of the stream; throws `LOG_HOLE` for one that no bridge wrote, since what it stands for
 * cannot be known.
 */
export function decodeMessage(
  streamSequence: number,
  subject: string,
  commitHeader: string,
  body: Uint8Array,
): StoredMessage {
  const parsed = parseSubject(subject);
  const mark = parseCommit(commitHeader);
  if (parsed === undefined || mark === undefined) {
    throw new BridgeError(
      'LOG_HOLE',
      `message ${streamSequence} of stream ${STREAM} (${subject}) was not written by a bridge`,
    );
  }
  const { firstSequence, lastSequence } = mark;
  return { ...parsed, streamSequence, firstSequence, lastSequence, body };
}

export function commitOf(headers: MsgHdrs | undefined): string {
  return headers?.get(HEADER.commit) ?? '';
}
