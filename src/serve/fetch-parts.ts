import type { LogReader } from '../log/log-reader.js';
import { type PartHead, readBatchHead } from './batch-walk.js';

/**
 * The bodies of the parts before the last one, `last`, of a big event, in order, from the log; undefined
 * if the log no longer holds them all. `fromStreamSequence` is a guess where they begin; a wrong one
 * costs a second search from the beginning of the log.
 */
export async function fetchParts(
  reader: LogReader,
  subjectPrefix: string,
  last: PartHead,
  fromStreamSequence: number,
  toStreamSequence: number,
  signal: AbortSignal,
): Promise<readonly Uint8Array[] | undefined> {
  for (const from of new Set([fromStreamSequence, 1])) {
    let parts: Uint8Array[] = [];
    for await (const messages of reader.read(`${subjectPrefix}.part`, from, signal)) {
      for (const message of messages) {
        if (message.streamSequence >= toStreamSequence) break;
        if (message.lastSequence !== last.sequence) continue;
        const index = readBatchHead(message.body).part?.index;
        // An owner that was restarted sends the event again from part 0.
        if (index === 0) parts = [];
        if (index === parts.length) parts.push(message.body);
      }
      if ((messages.at(-1)?.streamSequence ?? 0) >= toStreamSequence) break;
    }
    if (parts.length === last.index) return parts;
  }
  return undefined;
}
