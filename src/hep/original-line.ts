import type { Message } from '@bufbuild/protobuf';
import type { Event } from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../errors.js';
import { canonicalText, canonicalForm as knownForm } from './canonical-text.js';

/**
 * Exact bytes of the source line that `event` stands for, without 0x0A. `canonicalForm` is that of
 * the event's batch. Undefined for what no line stands behind: payloads that the bridge made, and
 * `OversizeLine`, whose bytes are gone.
 *
 * Throws `INTERNAL` where the line could only be guessed: a canonical form, a payload or a field
 * that this version does not know, or no line where one must be.
 */
export function originalLine(event: Event, canonicalForm: number): Uint8Array | undefined {
  if (event.line.length > 0) return event.line;
  switch (event.payload.case) {
    case 'runStarted':
    case 'runFinished':
    case 'oversizeLine':
    case 'cancelRequested':
    case 'cancelSignalled':
    case 'stderrChunk':
    case 'historyExpired':
      return undefined;
    case undefined:
      throw noLine(event, 'its payload is unknown here; a newer reader is needed');
    case 'malformedLine':
      // An empty line, beyond the blanks that wait for the next event.
      return event.line;
    case 'unknownFrame':
      throw noLine(event, 'unknownFrame without line');
    default:
      return writtenLine(event, canonicalForm);
  }
}

function writtenLine(event: Event, canonicalForm: number): Uint8Array {
  if (canonicalForm !== knownForm) {
    throw noLine(
      event,
      `canonical form ${canonicalForm} is unknown here; a newer reader is needed`,
    );
  }
  if (hasUnknownFields(event.payload)) {
    throw noLine(event, 'its frame has fields unknown here; a newer reader is needed');
  }
  const text = canonicalText(event.payload);
  if (text === undefined) throw noLine(event, 'its frame has a number that JSON cannot write');
  return text;
}

function hasUnknownFields(payload: Event['payload']): boolean {
  if (payload.case === undefined) return false;
  if (isOpen(payload.value)) return true;
  if (payload.case !== 'turnDone') return false;
  const { usage, toolResults } = payload.value;
  return (usage !== undefined && isOpen(usage)) || toolResults.some(isOpen);
}

function isOpen(message: Message): boolean {
  return (message.$unknown?.length ?? 0) > 0;
}

function noLine(event: Event, why: string): BridgeError {
  return new BridgeError('INTERNAL', `event ${event.sequence} has no exact line: ${why}`);
}
