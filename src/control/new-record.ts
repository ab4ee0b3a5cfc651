import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import type { Policies } from '../ingest/policies.js';
import type { RunRecord } from '../log/run-record.js';
import { escapeToken, partitionOf, runSubjectPrefix } from '../log/subject.js';
import type { ControlContext } from './context.js';

export interface NewRun {
  readonly runId: string;
  /** Unescaped. */
  readonly tenant: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Empty: the run id. */
  readonly partitionKey: string;
  /** Empty if the source is a client's Ingest call. */
  readonly profile: string;
  readonly actor: string;
  readonly requestHash: string;
  readonly strict: boolean;
  readonly policies: Policies;
}

/** The record of a run that is claimed and not started yet. */
export function newRecord(context: ControlContext, run: NewRun): RunRecord {
  const partitionKey = run.partitionKey === '' ? run.runId : run.partitionKey;
  const partition = partitionOf(partitionKey);
  return {
    run: create(RunSchema, {
      runId: run.runId,
      state: Run_State.STARTING,
      labels: { ...run.labels },
      partitionKey,
      partition,
      ownerId: context.ownerId,
      profile: run.profile,
      createTime: timestampFromMs(Math.floor(context.clock() / 1_000)),
    }),
    tenantToken: escapeToken(run.tenant),
    subjectPrefix: runSubjectPrefix({ tenant: run.tenant, partition, runId: run.runId }),
    requestHash: run.requestHash,
    actor: run.actor,
    strict: run.strict,
    policies: run.policies,
  };
}
