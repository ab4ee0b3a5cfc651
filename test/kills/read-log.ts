import { fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EventBatchSchema } from '#gen/hep/event/v1/event_pb.js';
import type { RunEvent } from '../../src/client/bridge-client.js';

const STREAM = 'HEP';

/** A run as the stream holds it, message by message, read past all that a bridge would hide. */
export interface LoggedRun {
  readonly runId: string;
  readonly events: RunEvent[];
  /** Owner ids of the gateways that wrote it, in order, without repetition. */
  readonly writers: string[];
}

/** The whole log, by run, from a connection of its own. */
export async function readLog(natsUrl: string): Promise<Map<string, LoggedRun>> {
  const runs = new Map<string, LoggedRun>();
  const connection = await connect({ servers: natsUrl });
  try {
    const manager = await jetstreamManager(connection);
    const { state } = await manager.streams.info(STREAM);
    if (state.messages === 0) return runs;
    const consumer = await jetstream(connection).consumers.get(STREAM);
    for await (const message of await consumer.consume()) {
      take(runs, message.data, message.headers?.get('Hep-Writer') ?? '');
      if (message.seq >= state.last_seq) break;
    }
  } finally {
    await connection.close();
  }
  return runs;
}

function take(runs: Map<string, LoggedRun>, body: Uint8Array, writer: string): void {
  const batch = fromBinary(EventBatchSchema, body);
  const { runId, canonicalForm } = batch;
  if (batch.part !== undefined) throw new Error(`run ${runId}: no event here is so big`);
  const run = runs.get(runId) ?? { runId, events: [], writers: [] };
  runs.set(runId, run);
  if (run.writers.at(-1) !== writer) run.writers.push(writer);
  const observedUs = batch.observeTime === undefined ? 0 : timestampMs(batch.observeTime) * 1_000;
  for (const event of batch.events) {
    const sequence = Number(event.sequence);
    const timeUs = observedUs + Number(event.observeOffsetUs);
    run.events.push({ runId, sequence, timeUs, canonicalForm, event });
  }
}
