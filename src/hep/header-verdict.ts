import type { Event } from '#gen/hep/event/v1/event_pb.js';

/** What the first frame of a stream says about reading the rest. */
export type HeaderVerdict = 'ACCEPTED' | 'HEADER_MISSING' | 'HEADER_UNSUPPORTED';

/** HEP major version 1, whatever its minor. */
const supported = /^v1(\.[0-9]+)?$/;

/** Judges the first frame of a stream; malformed lines before it are not asked about. */
export function headerVerdict(firstFrame: Event['payload']): HeaderVerdict {
  if (firstFrame.case !== 'hepHeader') return 'HEADER_MISSING';
  return isSupportedVersion(firstFrame.value.hep) ? 'ACCEPTED' : 'HEADER_UNSUPPORTED';
}

/** Whether this codec reads streams of a `hep` version, such as `v1` or `v1.2`. */
export function isSupportedVersion(hep: string): boolean {
  return supported.test(hep);
}
