import { create } from '@bufbuild/protobuf';
import { type IngestRequest, IngestRequestSchema } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Run } from '#gen/hep/bridge/v1/run_pb.js';
import type { BridgeClient } from '../../src/client/bridge-client.js';

export interface IngestBytes {
  readonly runId: string;
  readonly stdout: Uint8Array;
  readonly exitCode?: number;
  /** Leave once all bytes are sent and something is acknowledged, without an exit. */
  readonly leave?: boolean;
}

/** One plain Ingest call: sends the bytes from where the bridge says, and the exit. */
export async function ingestBytes(client: BridgeClient, options: IngestBytes): Promise<Run> {
  let startAt = (_offset: number): void => undefined;
  const opened = new Promise<number>((resolve) => {
    startAt = resolve;
  });
  let stop = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });

  async function* requests(): AsyncGenerator<IngestRequest> {
    const { runId, stdout, exitCode, leave } = options;
    yield create(IngestRequestSchema, { message: { case: 'open', value: { runId } } });
    for (let at = await opened; at < stdout.length; at += 200_000) {
      const data = stdout.subarray(at, at + 200_000);
      const value = { offset: BigInt(at), data };
      yield create(IngestRequestSchema, { message: { case: 'stdout', value } });
    }
    if (leave === true) {
      await stopped;
      return;
    }
    const value = {
      stdoutBytes: BigInt(stdout.length),
      ...(exitCode === undefined ? {} : { exitCode }),
    };
    yield create(IngestRequestSchema, { message: { case: 'exit', value } });
    await stopped;
  }

  let last: Run | undefined;
  try {
    for await (const { message } of client.ingest(requests())) {
      if (message.case === 'opened') startAt(Number(message.value.stdoutOffset));
      if (message.case === 'finished') last = message.value.run;
      if (message.case === 'ack' && options.leave === true && message.value.stdoutOffset > 0n)
        break;
    }
  } finally {
    stop();
  }
  if (last === undefined && options.leave !== true)
    throw new Error('the call ended without finished');
  return last as Run;
}
