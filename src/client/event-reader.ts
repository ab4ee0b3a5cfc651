import { fromBinary } from '@bufbuild/protobuf';
import type { SubscribeRequest } from '#gen/hep/bridge/v1/event_service_pb.js';
import {
  type Event,
  type EventBatch,
  EventClass,
  type EventPart,
  EventSchema,
} from '#gen/hep/event/v1/event_pb.js';
import { BridgeError } from '../errors.js';
import type { RunEvent } from './bridge-client.js';

/** Turns batches into events. */
export interface EventReader {
  /** Events not given before, in order; fails with `LOG_HOLE` if one is missing before them. */
  read(batch: EventBatch): RunEvent[];
  /** The next batches come from a new call: events between their parts start anew. */
  reconnected(): void;
}

interface Seen {
  /** Last sequence given, of any class. */
  last: number;
  /** Last sequence of steps and deltas, and of stderr; undefined until one was seen. */
  main: number | undefined;
  stderr: number | undefined;
  parts: Uint8Array[];
}

/** Runs remembered for a filter; the oldest beyond are forgotten (their next event is not checked). */
const maxRuns = 10_000;

export function createEventReader(request: SubscribeRequest): EventReader {
  const runs = new Map<string, Seen>();
  const first = firstSeen(request);
  // Deltas that were left out are no hole.
  const stepsOnly = request.skipDeltas || request.skipClosedDeltas;
  const seenOf = (runId: string): Seen => {
    let seen = runs.get(runId);
    if (seen === undefined) {
      seen = { last: first ?? 0, main: first, stderr: undefined, parts: [] };
      if (runs.size >= maxRuns) {
        const oldest = runs.keys().next();
        if (oldest.done !== true) runs.delete(oldest.value);
      }
      runs.set(runId, seen);
    }
    return seen;
  };
  return {
    read: (batch) => readBatch(seenOf(batch.runId), batch, stepsOnly),
    reconnected: () => {
      for (const seen of runs.values()) seen.parts = [];
    },
  };
}

/** What the reader of one run has before its first event; undefined = anything may come first. */
function firstSeen(request: SubscribeRequest): number | undefined {
  if (request.target.case !== 'runId') return undefined;
  if (request.start.case === 'afterSequence') return Number(request.start.value);
  const isWhole =
    request.start.case === undefined ||
    (request.start.case === 'position' && request.start.value <= 1);
  return isWhole ? 0 : undefined;
}

function readBatch(seen: Seen, batch: EventBatch, stepsOnly: boolean): RunEvent[] {
  checkChain(seen, batch, stepsOnly);
  const events = batch.part === undefined ? batch.events : joinPart(seen, batch.part);
  if (batch.part === undefined) seen.parts = [];
  const startUs = timeUs(batch);
  const fresh: RunEvent[] = [];
  for (const event of events) {
    const sequence = Number(event.sequence);
    if (batch.class === EventClass.STDERR) seen.stderr = sequence;
    else seen.main = Math.max(seen.main ?? 0, sequence);
    if (sequence <= seen.last) continue;
    seen.last = sequence;
    fresh.push({
      runId: batch.runId,
      sequence,
      timeUs: startUs + Number(event.observeOffsetUs),
      canonicalForm: batch.canonicalForm,
      event,
    });
  }
  return fresh;
}

function checkChain(seen: Seen, batch: EventBatch, stepsOnly: boolean): void {
  const isStderr = batch.class === EventClass.STDERR;
  const known = isStderr ? seen.stderr : seen.main;
  const previous = Number(
    stepsOnly && !isStderr ? batch.previousStepSequence : batch.previousSequence,
  );
  if (known === undefined || previous <= known) return;
  throw new BridgeError(
    'LOG_HOLE',
    `events of run ${batch.runId} after sequence ${known} and up to ${previous} did not arrive`,
    { metadata: { run_id: batch.runId, after_sequence: String(known) } },
  );
}

/** The event, if `part` completes it. */
function joinPart(seen: Seen, part: EventPart): Event[] {
  if (part.index === 0) seen.parts = [];
  if (part.index !== seen.parts.length) {
    throw new BridgeError(
      'LOG_HOLE',
      `part ${part.index} of event ${part.sequence} came after ${seen.parts.length} parts`,
    );
  }
  seen.parts.push(part.data);
  if (part.index + 1 < part.count) return [];
  const bytes = Buffer.concat(seen.parts);
  seen.parts = [];
  return [fromBinary(EventSchema, bytes)];
}

function timeUs(batch: EventBatch): number {
  const time = batch.observeTime;
  return time === undefined ? 0 : Number(time.seconds) * 1_000_000 + Math.floor(time.nanos / 1000);
}
