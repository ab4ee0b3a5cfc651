import { create } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { connect } from '@nats-io/transport-node';
import { Run_State, RunSchema } from '#gen/hep/bridge/v1/run_pb.js';
import { openLog } from '../../src/log/open-log.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { partitionOf, runSubjectPrefix } from '../../src/log/subject.js';

/** Writes the record of a run that an owner has claimed and not begun. */
export async function claimRun(
  nats: { readonly url: string },
  claim: {
    readonly runId: string;
    readonly ownerId: string;
    readonly profile: string;
    readonly requestHash: string;
  },
): Promise<void> {
  const connection = await connect({ servers: nats.url });
  try {
    const maxMessageBytes = 524_288;
    const log = await openLog(connection, { ...DEFAULT_STREAM_OPTIONS, maxMessageBytes });
    const { runId, ownerId, profile, requestHash } = claim;
    const partition = partitionOf(runId);
    await log.index.create({
      run: create(RunSchema, {
        runId,
        state: Run_State.STARTING,
        partitionKey: runId,
        partition,
        ownerId,
        profile,
        createTime: timestampNow(),
      }),
      tenantToken: 'default',
      subjectPrefix: runSubjectPrefix({ tenant: 'default', partition, runId }),
      requestHash,
      actor: '',
      strict: false,
      policies: {},
    });
  } finally {
    await connection.close();
  }
}
