import type { StoredMessage } from '../log/stored-message.js';
import type { SubjectTokens } from './run-lookup.js';
import type { SubscribePlan } from './subscribe-plan.js';

const root = 'hep.event.v1';

/** Subject of a message without its class token. */
export function subjectPrefixOf(message: StoredMessage): string {
  return `${root}.${message.tenantToken}.${message.partition}.${message.runId}`;
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
  tokens: SubjectTokens,
): string {
  const partition = partitionKey === '' ? '*' : String(tokens.partitionOf(partitionKey));
  return `${root}.${tenantToken}.${partition}.*.${classToken(plan)}`;
}

/** Parts of steps are fetched when their last one comes; parts of deltas are not wanted at all. */
function classToken(plan: SubscribePlan): string {
  return plan.skipDeltas && !plan.includeStderr ? 'step' : '*';
}
