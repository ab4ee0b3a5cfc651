import { type Duration, durationMs } from '@bufbuild/protobuf/wkt';
import type { RunPolicies } from '#gen/hep/bridge/v1/policy_pb.js';
import type { FieldViolation } from '../../errors.js';
import type { Policies } from '../../ingest/policies.js';

interface PolicyRequest {
  readonly deadline?: Duration | undefined;
  readonly policies?: RunPolicies | undefined;
}

/** What a call asks for; 0 and unset are no limit. */
export function policiesOf({ deadline, policies }: PolicyRequest): Policies {
  const limits: readonly (readonly [keyof Policies, number | undefined])[] = [
    ['deadlineMs', deadline && durationMs(deadline)],
    ['stallMs', policies?.stall && durationMs(policies.stall)],
    ['headerWithinMs', policies?.headerWithin && durationMs(policies.headerWithin)],
    ['maxTokens', policies && Number(policies.maxTokens)],
    ['maxCost', policies?.maxCost],
    ['maxEvents', policies && Number(policies.maxEvents)],
    ['maxStdoutBytes', policies && Number(policies.maxStdoutBytes)],
  ];
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined && limit > 0));
}

export function checkPolicies({ deadline, policies }: PolicyRequest): readonly FieldViolation[] {
  const found: FieldViolation[] = [];
  function check(field: string, value: number | bigint | undefined, mustBePositive = false): void {
    if (value === undefined) return;
    if (mustBePositive ? value > 0 : value >= 0) return;
    const description = mustBePositive ? 'must be longer than 0' : 'must be 0 (off) or more';
    found.push({ field, description });
  }
  check('deadline', deadline && durationMs(deadline), true);
  check('policies.stall', policies?.stall && durationMs(policies.stall));
  check('policies.header_within', policies?.headerWithin && durationMs(policies.headerWithin));
  check('policies.max_tokens', policies?.maxTokens);
  check('policies.max_cost', policies?.maxCost);
  check('policies.max_events', policies?.maxEvents);
  check('policies.max_stdout_bytes', policies?.maxStdoutBytes);
  return found;
}
