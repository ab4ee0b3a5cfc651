/** The stream that is the log. */
export const STREAM = 'HEP';
/** Key-value buckets beside it; prefixed, since a shared server may have a `runs` of its own. */
export const RUNS_BUCKET = 'HEP_RUNS';
export const OWNERS_BUCKET = 'HEP_OWNERS';
export const CANCELS_BUCKET = 'HEP_CANCELS';

/** Headers of a stored message. */
export const HEADER = {
  expectedLastSubjectSequence: 'Nats-Expected-Last-Subject-Sequence',
  expectedLastSubjectSequenceSubject: 'Nats-Expected-Last-Subject-Sequence-Subject',
  /** `<random epoch of the writer>:<first>-<last>`. */
  commit: 'Hep-Commit',
  /** Owner id of the gateway. */
  writer: 'Hep-Writer',
  contentType: 'Content-Type',
  /** SHA-256 of the start request, on a run's first message. */
  request: 'Hep-Request',
} as const;
