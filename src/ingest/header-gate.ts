import type { Event } from '#gen/hep/event/v1/event_pb.js';
import { OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';
import { headerVerdict } from '../hep/header-verdict.js';
import type { EventBody } from './event-writer.js';
import type { Refusal } from './outcome.js';

/** A line that is no frame and came before the header. */
export interface HeldNoise {
  readonly body: EventBody;
  readonly endOffset: number;
  /** The line, or what is kept of it. */
  readonly bytes: Uint8Array;
}

/**
 * Decides on a stream by its first frame. Until then lines that are no frames wait here, within
 * `MAX_NOISE_LINES` and `MAX_NOISE_BYTES`: nothing of a stream is published before its header was
 * accepted, and nothing of a refused one at all.
 */
export interface HeaderGate {
  readonly state: 'before-header' | 'open' | 'refused';
  readonly refusal: Refusal | undefined;
  hold(noise: HeldNoise): void;
  /** The first frame, and its line for the refusal; true if the stream is read. */
  decide(payload: Event['payload'], line: Uint8Array): boolean;
  /** Hands over what waits. */
  release(): readonly HeldNoise[];
}

export const MAX_NOISE_LINES = 100;
export const MAX_NOISE_BYTES = 262_144;
export const REFUSED_LINE_BYTES = 4_096;

export function createHeaderGate(strict: boolean): HeaderGate {
  let state: HeaderGate['state'] = 'before-header';
  let refusal: Refusal | undefined;
  let held: HeldNoise[] = [];
  let heldBytes = 0;

  function refuse(reason: Refusal['reason'], detail: string, line: Uint8Array): void {
    state = 'refused';
    held = [];
    refusal = { reason, detail, line: line.slice(0, REFUSED_LINE_BYTES) };
  }

  return {
    get state() {
      return state;
    },
    get refusal() {
      return refusal;
    },
    hold(noise) {
      heldBytes += noise.bytes.length;
      held.push(noise);
      if (strict) {
        refuse(OutcomeReason.HEADER_MISSING, 'strict: the first line is no frame', noise.bytes);
      } else if (held.length > MAX_NOISE_LINES || heldBytes > MAX_NOISE_BYTES) {
        const detail = `no frame in the first ${held.length} lines (${heldBytes} bytes)`;
        refuse(OutcomeReason.HEADER_MISSING, detail, noise.bytes);
      }
    },
    decide(payload, line) {
      const verdict = headerVerdict(payload);
      switch (verdict) {
        case 'ACCEPTED':
          state = 'open';
          break;
        case 'HEADER_MISSING':
          refuse(OutcomeReason[verdict], `the first frame is no hep_header`, line);
          break;
        case 'HEADER_UNSUPPORTED':
          refuse(OutcomeReason[verdict], unsupported(payload), line);
          break;
      }
      return verdict === 'ACCEPTED';
    },
    release() {
      const released = held;
      held = [];
      return released;
    },
  };
}

function unsupported(payload: Event['payload']): string {
  const hep = payload.case === 'hepHeader' ? payload.value.hep.slice(0, 64) : '';
  return `hep_header says hep ${JSON.stringify(hep)}; this bridge reads v1`;
}
