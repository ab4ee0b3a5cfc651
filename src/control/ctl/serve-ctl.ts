import { fromBinary, fromJson, type JsonValue, toBinary, toJsonString } from '@bufbuild/protobuf';
import { type ServiceMsg, Svcm } from '@nats-io/services';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import {
  type CancelRunRequest,
  CancelRunRequestSchema,
  type CancelRunResponse,
  CancelRunResponseSchema,
} from '#gen/hep/bridge/v1/run_service_pb.js';
import { BridgeError, toBridgeError } from '../../errors.js';
import { unescapeToken } from '../../log/subject.js';
import { cancelOwned, cancelRun } from '../cancel/cancel-run.js';
import type { ControlContext } from '../context.js';
import { loseToOwner } from '../feed/lose-to-owner.js';
import type { OwnerCancel, OwnerRelease } from './owner-link.js';
import {
  CANCEL_SUBJECTS,
  ownerCancelSubject,
  ownerReleaseSubject,
  REASON_HEADER,
} from './subjects.js';

/** Requests over NATS that one gateway works on at once. */
const MAX_REQUESTS = 1_024;
const CONTENT_TYPE = 'Content-Type';
const JSON_TYPE = 'application/json';
const PROTOBUF_TYPE = 'application/protobuf';

/** A request's encoding; its answer has the same. */
type Encoding = 'json' | 'protobuf';

/**
 * Takes requests over NATS, as a service of NATS's framework (`$SRV.PING.hep-bridge` finds the gateways):
 * CancelRun from anybody, which any gateway answers, and the cancels that other gateways bring to this
 * one as the owner. Resolves with what ends it.
 */
export async function serveCtl(
  context: ControlContext,
  connection: NatsConnection,
  statusNumber: (error: BridgeError) => number,
): Promise<() => Promise<void>> {
  const service = await new Svcm(connection).add({
    name: 'hep-bridge',
    version: context.bridgeVersion,
    description: 'Gateway of HEP runs',
    queue: 'hep-bridge',
    metadata: { owner: context.ownerId },
  });
  let inFlight = 0;

  function answerFrom(
    message: ServiceMsg,
    work: () => Promise<{ readonly body: Uint8Array | string; readonly type: string }>,
  ): void {
    const all = headers();
    const fail = (thrown: unknown): void => {
      const error = toBridgeError(thrown);
      all.set(REASON_HEADER, error.code);
      message.respondError(statusNumber(error), oneLine(error.message), '', { headers: all });
    };
    if (inFlight >= MAX_REQUESTS) {
      fail(new BridgeError('LIMIT_REACHED', `${MAX_REQUESTS} requests are at work; ask again`));
      return;
    }
    inFlight += 1;
    work()
      .then(({ body, type }) => {
        all.set(CONTENT_TYPE, type);
        message.respond(body, { headers: all });
      })
      .catch(fail)
      .finally(() => {
        inFlight -= 1;
      });
  }

  service.addEndpoint('cancel', {
    subject: CANCEL_SUBJECTS,
    metadata: { request: 'hep.bridge.v1.CancelRunRequest' },
    handler: (error, message) => {
      if (error !== null) return;
      answerFrom(message, async () => {
        const encoding = encodingOf(message);
        const tenant = unescapeToken(message.subject.split('.').at(-1) ?? '');
        const request = decodeRequest(message, encoding);
        const response = await cancelRun(context, request, { tenant, actor: '' });
        return encodeResponse(response, encoding);
      });
    },
  });
  service.addEndpoint('owner-cancel', {
    subject: ownerCancelSubject(context.ownerId),
    handler: (error, message) => {
      if (error !== null) return;
      answerFrom(message, async () => {
        const { runId, order } = message.json<OwnerCancel>();
        const owned = context.owned.get(runId);
        if (owned === undefined) {
          throw new BridgeError('RUN_NOT_FOUND', `run ${runId} is not owned here`);
        }
        return encodeResponse(await cancelOwned(context, owned, order), 'protobuf');
      });
    },
  });
  service.addEndpoint('owner-release', {
    subject: ownerReleaseSubject(context.ownerId),
    handler: (error, message) => {
      if (error !== null) return;
      answerFrom(message, async () => {
        const { runId, tenantToken } = message.json<OwnerRelease>();
        const known = await context.index.get(tenantToken, runId);
        const owned = context.owned.get(runId);
        if (known !== undefined && owned !== undefined) loseToOwner(context, owned, known);
        return { body: '', type: JSON_TYPE };
      });
    },
  });
  return async () => {
    await service.stop();
  };
}

/** JSON begins with a brace, which no CancelRunRequest in Protobuf does. */
function encodingOf(message: ServiceMsg): Encoding {
  const type = message.headers?.get(CONTENT_TYPE) ?? '';
  if (type.startsWith(JSON_TYPE)) return 'json';
  if (type.startsWith(PROTOBUF_TYPE)) return 'protobuf';
  return message.string().trimStart().startsWith('{') ? 'json' : 'protobuf';
}

function decodeRequest(message: ServiceMsg, encoding: Encoding): CancelRunRequest {
  try {
    if (encoding === 'protobuf') return fromBinary(CancelRunRequestSchema, message.data);
    return fromJson(CancelRunRequestSchema, message.json<JsonValue>());
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BridgeError('INVALID_REQUEST', `no CancelRunRequest in ${encoding}: ${why}`, {
      cause,
    });
  }
}

function encodeResponse(
  response: CancelRunResponse,
  encoding: Encoding,
): { readonly body: Uint8Array | string; readonly type: string } {
  return encoding === 'json'
    ? { body: toJsonString(CancelRunResponseSchema, response), type: JSON_TYPE }
    : { body: toBinary(CancelRunResponseSchema, response), type: PROTOBUF_TYPE };
}

/** As a header takes it. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ').slice(0, 1_024);
}
