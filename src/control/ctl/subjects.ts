/** Subjects of requests to gateways, beside the stream; the prefix is the schema of what they mean. */
const ROOT = 'hep.ctl.v1';

/** Anybody to any gateway: CancelRun, in JSON or Protobuf; the last token is the tenant's. */
export const CANCEL_SUBJECTS = `${ROOT}.cancel.*`;

/** Gateway to gateway: a cancel that is stored, to the owner of its run. */
export function ownerCancelSubject(ownerId: string): string {
  return `${ROOT}.owner.${ownerId}.cancel`;
}

/** Gateway to gateway: a client's run has gone on elsewhere, says its record. */
export function ownerReleaseSubject(ownerId: string): string {
  return `${ROOT}.owner.${ownerId}.release`;
}

/** Header with the stable code of an error, beside those of the services framework. */
export const REASON_HEADER = 'Hep-Error-Reason';
