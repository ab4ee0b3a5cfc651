import { create, toBinary } from '@bufbuild/protobuf';
import { EventBatchSchema, EventClass, EventPartSchema } from '#gen/hep/event/v1/event_pb.js';
import type { Commit, MessageClass } from './run-log.js';
import { varintSize, writeVarint, writeVarintField } from './wire.js';

/** Canonical form that this bridge's events stand for; frozen by test/golden. */
export const CANONICAL_FORM = 1;

/** How far the source is accounted for; both count bytes from the beginning of their pipe. */
export interface SourceOffsets {
  readonly stdout: number;
  readonly stderr: number;
}

/** Events encoded as they stand in `EventBatch.events`: tag, length, Event; one after the other. */
export interface EncodedEvents {
  readonly bytes: Uint8Array;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Sequence of the last one that is no delta; 0 if there is none. */
  readonly lastStepSequence: number;
}

/** The messages of one commit: one, or several if they are the parts of one big event. */
export interface TakenBatch {
  readonly commits: readonly Commit[];
  readonly lastSequence: number;
  /** When its last event was observed. */
  readonly lastTimeUs: number;
  readonly offsets: SourceOffsets;
}

interface Batch {
  readonly observeTimeUs: number;
  lastTimeUs: number;
  readonly chunks: Uint8Array[];
  bytes: number;
  firstSequence: number;
  lastSequence: number;
  lastStepSequence: number;
  stdoutOffset: number;
}

/** Where a run's log stands: what the next batch's head refers to. All 0 for a new run. */
export interface ChainPosition {
  /** Last sequence of a batch of frames and bridge events. */
  readonly sequence: number;
  /** Last sequence that is neither a delta nor a StderrChunk. */
  readonly stepSequence: number;
  readonly stderrSequence: number;
  readonly offsets: SourceOffsets;
}

export interface BatchQueue {
  /** Encoded bytes that wait. */
  readonly bytes: number;
  /** Time of the first event of the batch that `append` would extend, or `nowUs` for a new one. */
  baseTimeUs(nowUs: number): number;
  /** Bytes that still fit the batch that `append` would extend. */
  readonly room: number;
  /**
   * `observeTimeUs`: `baseTimeUs` of the first of these events; `lastTimeUs`: when the last was
   * observed; `stdoutOffset`: position in stdout behind the last one's line.
   */
  append(
    events: EncodedEvents,
    observeTimeUs: number,
    lastTimeUs: number,
    stdoutOffset: number,
  ): void;
  /** Ends the batch that `append` would extend, so that the next event begins a new one. */
  seal(): void;
  take(): TakenBatch | undefined;
  /** Wraps one event that is stored apart from frames: a StderrChunk. */
  wrapStderr(events: EncodedEvents, observeTimeUs: number, stderrOffset: number): TakenBatch;
}

const CHAIN_BEGIN: ChainPosition = {
  sequence: 0,
  stepSequence: 0,
  stderrSequence: 0,
  offsets: { stdout: 0, stderr: 0 },
};

const HEAD_BYTES = 160;
const EVENTS_TAG = (15 << 3) | 2;

const CLASS_NUMBER: Record<MessageClass, EventClass> = {
  step: EventClass.STEP,
  delta: EventClass.DELTA,
  stderr: EventClass.STDERR,
  part: EventClass.PART,
};

/**
 * Events of one run on their way into the log. What arrives while a commit is under way gathers in
 * one batch, up to `maxMessageBytes`; a single event beyond that leaves as parts.
 */
export function createBatchQueue(
  runId: string,
  maxMessageBytes: number,
  position: ChainPosition = CHAIN_BEGIN,
): BatchQueue {
  const runIdBytes = new TextEncoder().encode(runId);
  const maxEventsBytes = maxMessageBytes - HEAD_BYTES;
  const sealed: Batch[] = [];
  let open: Batch | undefined;
  let bytes = 0;
  let { sequence, stepSequence, stderrSequence } = position;
  let { stdout: stdoutOffset, stderr: stderrOffset } = position.offsets;

  function seal(): void {
    if (open !== undefined) sealed.push(open);
    open = undefined;
  }

  function writeHead(
    target: Uint8Array,
    observeTimeUs: number,
    kind: MessageClass,
    previousSequence: number,
  ): number {
    let at = 0;
    target[at++] = (1 << 3) | 2;
    target[at++] = runIdBytes.length;
    target.set(runIdBytes, at);
    at += runIdBytes.length;
    const seconds = Math.floor(observeTimeUs / 1e6);
    const nanos = (observeTimeUs % 1e6) * 1_000;
    const size = 1 + varintSize(seconds) + (nanos === 0 ? 0 : 1 + varintSize(nanos));
    target[at++] = (2 << 3) | 2;
    target[at++] = size;
    at = writeVarintField(target, at, 1, seconds);
    at = writeVarintField(target, at, 2, nanos);
    at = writeVarintField(target, at, 3, CLASS_NUMBER[kind]);
    at = writeVarintField(target, at, 4, previousSequence);
    at = writeVarintField(target, at, 5, stepSequence);
    at = writeVarintField(target, at, 6, stdoutOffset);
    at = writeVarintField(target, at, 7, stderrOffset);
    return writeVarintField(target, at, 8, CANONICAL_FORM);
  }

  function encodeWhole(batch: Batch, kind: MessageClass, previousSequence: number): Commit {
    const body = Buffer.allocUnsafe(HEAD_BYTES + batch.bytes);
    let at = writeHead(body, batch.observeTimeUs, kind, previousSequence);
    for (const chunk of batch.chunks) {
      body.set(chunk, at);
      at += chunk.length;
    }
    const { firstSequence, lastSequence } = batch;
    return { class: kind, firstSequence, lastSequence, body: body.subarray(0, at) };
  }

  /** The one event of the batch, cut. Only the last part says that its source bytes are stored. */
  function encodeParts(batch: Batch, kind: MessageClass): Commit[] {
    const { firstSequence, lastSequence } = batch;
    const event = eventOf(batch.chunks);
    const count = Math.ceil(event.length / maxEventsBytes);
    const commits: Commit[] = [];
    for (let index = 0; index < count; index += 1) {
      const partClass = index === count - 1 ? kind : 'part';
      if (partClass !== 'part') stdoutOffset = batch.stdoutOffset;
      const head = new Uint8Array(HEAD_BYTES);
      const headBytes = writeHead(head, batch.observeTimeUs, partClass, sequence);
      const part = create(EventPartSchema, {
        sequence: BigInt(firstSequence),
        index,
        count,
        eventBytes: BigInt(event.length),
        data: event.subarray(index * maxEventsBytes, (index + 1) * maxEventsBytes),
      });
      const rest = toBinary(EventBatchSchema, create(EventBatchSchema, { part }));
      const body = Buffer.concat([head.subarray(0, headBytes), rest]);
      commits.push({ class: partClass, firstSequence, lastSequence, body });
    }
    return commits;
  }

  function taken(commits: readonly Commit[], batch: Batch): TakenBatch {
    const { lastSequence, lastTimeUs } = batch;
    const offsets = { stdout: stdoutOffset, stderr: stderrOffset };
    return { commits, lastSequence, lastTimeUs, offsets };
  }

  return {
    get bytes() {
      return bytes;
    },
    get room() {
      return open === undefined ? maxEventsBytes : maxEventsBytes - open.bytes;
    },
    baseTimeUs(nowUs) {
      return open === undefined ? nowUs : open.observeTimeUs;
    },
    append(events, observeTimeUs, lastTimeUs, stdoutOffset) {
      open ??= {
        observeTimeUs,
        lastTimeUs,
        chunks: [],
        bytes: 0,
        firstSequence: events.firstSequence,
        lastSequence: 0,
        lastStepSequence: 0,
        stdoutOffset,
      };
      open.chunks.push(events.bytes);
      open.bytes += events.bytes.length;
      open.lastSequence = events.lastSequence;
      open.lastTimeUs = lastTimeUs;
      if (events.lastStepSequence > 0) open.lastStepSequence = events.lastStepSequence;
      open.stdoutOffset = stdoutOffset;
      bytes += events.bytes.length;
    },
    seal,
    take() {
      if (sealed.length === 0) seal();
      const batch = sealed.shift();
      if (batch === undefined) return undefined;
      bytes -= batch.bytes;
      const kind = batch.lastStepSequence > 0 ? 'step' : 'delta';
      let commits: readonly Commit[];
      if (batch.bytes > maxEventsBytes) {
        commits = encodeParts(batch, kind);
      } else {
        stdoutOffset = batch.stdoutOffset;
        commits = [encodeWhole(batch, kind, sequence)];
      }
      sequence = batch.lastSequence;
      if (batch.lastStepSequence > 0) stepSequence = batch.lastStepSequence;
      return taken(commits, batch);
    },
    wrapStderr(events, observeTimeUs, endOffset) {
      stderrOffset = endOffset;
      const batch = {
        ...events,
        observeTimeUs,
        lastTimeUs: observeTimeUs,
        chunks: [events.bytes],
        bytes: events.bytes.length,
        stdoutOffset,
      };
      const commit = encodeWhole(batch, 'stderr', stderrSequence);
      stderrSequence = events.lastSequence;
      return taken([commit], batch);
    },
  };
}

/** An encoded Event as it stands in `EventBatch.events`. */
export function asBatchField(event: Uint8Array): Uint8Array {
  const head = 1 + varintSize(event.length);
  const field = new Uint8Array(head + event.length);
  field[0] = EVENTS_TAG;
  writeVarint(field, 1, event.length);
  field.set(event, head);
  return field;
}

/** The Event inside the one field that `asBatchField` made. */
function eventOf(chunks: readonly Uint8Array[]): Uint8Array {
  const field = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  let at = 1;
  while (((field[at] ?? 0) & 0x80) !== 0) at += 1;
  return field.subarray(at + 1);
}
