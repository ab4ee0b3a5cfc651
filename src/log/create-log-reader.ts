import { BridgeError } from '../errors.js';
import { asUnavailable } from './as-unavailable.js';
import { decodeRunMessage } from './decode-message.js';
import { type LastMessage, readFirstMessage, readLastMessage } from './last-message.js';
import type { LogAccess } from './log-access.js';
import type { LogReader } from './log-reader.js';
import { readHistory } from './read-history.js';
import type { StoredMessage } from './stored-message.js';
import { findStream, streamIdentity } from './stream.js';
import { tailStream } from './tail-stream.js';

export function createLogReader(access: LogAccess): LogReader {
  const { manager } = access;
  return {
    async bounds() {
      const info = await asUnavailable('reading the log', () => findStream(manager));
      if (info === undefined) {
        throw new BridgeError('LOG_UNAVAILABLE', 'the stream is gone; restart the bridge');
      }
      return {
        identity: streamIdentity(info),
        firstStreamSequence: info.state.first_seq,
        lastStreamSequence: info.state.last_seq,
      };
    },
    lastOfRun: async (subjectPrefix) =>
      toStored(await readLastMessage(manager, `${subjectPrefix}.*`)),
    firstOfRun: async (subjectPrefix) =>
      toStored(await readFirstMessage(manager, `${subjectPrefix}.*`)),
    read: (filter, fromStreamSequence, signal) =>
      readHistory(access, filter, fromStreamSequence, signal),
    tail: (fromStreamSequence, signal) => tailStream(access, fromStreamSequence, signal),
  };
}

function toStored(message: LastMessage | undefined): StoredMessage | undefined {
  if (message === undefined) return undefined;
  const { streamSequence, subject, commit, body } = message;
  return decodeRunMessage(streamSequence, subject, commit, body);
}
