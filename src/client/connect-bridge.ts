import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { type ChannelCredentials, Client, credentials, Metadata } from '@grpc/grpc-js';
import { EventService } from '#gen/hep/bridge/v1/event_service_pb.js';
import { IngestService } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import { RunService } from '#gen/hep/bridge/v1/run_service_pb.js';
import { BridgeError } from '../errors.js';
import type { BridgeClient, CallOptions, UnaryOptions } from './bridge-client.js';
import { callUnary } from './call-unary.js';
import { pushRequests, responsesOf } from './stream-responses.js';
import { subscribeWithResume } from './subscribe-with-resume.js';

export interface ConnectOptions {
  /** Default: without TLS. */
  readonly credentials?: ChannelCredentials;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A client of the bridge at `address` (`host:port`). Does not connect before the first call. The caller
 * closes it.
 */
export function connectBridge(address: string, options: ConnectOptions = {}): BridgeClient {
  const client = new Client(address, options.credentials ?? credentials.createInsecure(), {
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
  });
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(options.headers ?? {})) metadata.set(name, value);
  const wire = { client, address, metadata };

  const unary = async <Request extends DescMessage, Response extends DescMessage>(
    method: DescMethod & { input: Request; output: Response },
    request: MessageInitShape<Request>,
    callOptions: UnaryOptions = {},
  ): Promise<MessageShape<Response>> => {
    const bytes = toBinary(method.input, create(method.input, request));
    return fromBinary(method.output, await callUnary(wire, pathOf(method), bytes, callOptions));
  };
  const subscribeOnce: BridgeClient['subscribeOnce'] = async function* (request, callOptions = {}) {
    const method = EventService.method.subscribe;
    const bytes = toBinary(method.input, create(method.input, request));
    const call = client.makeServerStreamRequest(pathOf(method), asBuffer, asIs, bytes, metadata);
    for await (const response of responsesOf(call, address, callOptions)) {
      yield fromBinary(method.output, response);
    }
  };
  const ingest: BridgeClient['ingest'] = async function* (requests, callOptions: CallOptions = {}) {
    const method = IngestService.method.ingest;
    const call = client.makeBidiStreamRequest(pathOf(method), asBuffer, asIs, metadata);
    const pushing = pushRequests(call, encodeAll(method.input, requests));
    try {
      for await (const response of responsesOf(call, address, callOptions)) {
        yield fromBinary(method.output, response);
      }
    } catch (thrown) {
      // What the requests threw cancelled the call: that is the reason, not the status.
      throw pushing.failure ?? thrown;
    } finally {
      pushing.stop();
    }
  };
  const close = async (): Promise<void> => client.close();
  const { startRun, getRun, listRuns, cancelRun } = RunService.method;
  return {
    startRun: (request, callOptions) => unary(startRun, request, callOptions),
    getRun: async (runId, callOptions) => {
      const { run } = await unary(getRun, { runId }, callOptions);
      if (run !== undefined) return run;
      throw new BridgeError('INTERNAL', `the bridge at ${address} gave no record of run ${runId}`);
    },
    listRuns: (request, callOptions) => unary(listRuns, request, callOptions),
    cancelRun: (request, callOptions) => unary(cancelRun, request, callOptions),
    subscribe: (request, callOptions = {}) =>
      subscribeWithResume(subscribeOnce, request, callOptions),
    subscribeOnce,
    ingest,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function* encodeAll<Desc extends DescMessage>(
  schema: Desc,
  messages: AsyncIterable<MessageShape<Desc>>,
): AsyncIterable<Uint8Array> {
  for await (const message of messages) yield toBinary(schema, message);
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function asBuffer(message: Uint8Array): Buffer {
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength);
}

function asIs(message: Buffer): Uint8Array {
  return message;
}
