import type { Event } from '#gen/hep/event/v1/event_pb.js';

/** What the first frame of a stream says about reading the rest. */
export type HeaderVerdict = 'ACCEPTED' | 'HEADER_MISSING' | 'HEADER_UNSUPPORTED';

/** HEP major version 1, whatever its minor. */
const supported = /^v1(\.[0-9]+)?$/;

/** Judges the first frame of a stream; malformed lines before it are not asked about. */
export function headerVerdict(firstFrame: Event['payload']): HeaderVerdict {
  if (firstFrame.case !== 'hepHeader') return 'HEADER_MISSING';
  return supported.test(firstFrame.value.hep) ? 'ACCEPTED' : 'HEADER_UNSUPPORTED';
}
