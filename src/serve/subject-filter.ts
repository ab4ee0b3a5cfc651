import type { StoredMessage } from '../log/stored-message.js';
import { EVENT_SUBJECT_ROOT, partitionOf } from '../log/subject.js';
import type { SubscribePlan } from './subscribe-plan.js';

/** Subject of a message without its class token. */
export function subjectPrefixOf(message: StoredMessage): string {
  return `${EVENT_SUBJECT_ROOT}.${message.tenantToken}.${message.partition}.${message.runId}`;
}

/** Which messages of a run a subscription reads: one class where that is all it needs, else all. */
export function runFilter(plan: SubscribePlan, subjectPrefix: string): string {
  return `${subjectPrefix}.${classToken(plan)}`;
}

/** Which messages of a tenant a filter's subscription reads. */
export function tenantFilter(
  plan: SubscribePlan,
  tenantToken: string,
  partitionKey: string,
): string {
  const partition = partitionKey === '' ? '*' : String(partitionOf(partitionKey));
  return `${EVENT_SUBJECT_ROOT}.${tenantToken}.${partition}.*.${classToken(plan)}`;
}

/** Parts of steps are fetched when their last one comes; parts of deltas are not wanted at all. */
function classToken(plan: SubscribePlan): string {
  return plan.skipDeltas && !plan.includeStderr ? 'step' : '*';
}
