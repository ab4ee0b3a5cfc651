import { Outcome } from '#gen/hep/event/v1/outcome_pb.js';
import type { RunEvent } from '../client/bridge-client.js';
import { BridgeError } from '../errors.js';
import { originalLine } from '../hep/original-line.js';

/** Puts a run's original stdout together from its events. */
export interface ExportStream {
  /** The bytes that are certain after this event; empty if there are none. */
  take(event: RunEvent): Uint8Array;
  /** Throws `EXPORT_INCOMPLETE` if what was given is not the whole stream. */
  check(): void;
}

const LF = Uint8Array.of(0x0a);
const NO_BYTES = new Uint8Array(0);

export function createExportStream(): ExportStream {
  let owesLineFeed = false;
  let isFinished = false;
  let gap = '';

  /** The line end of the line before, which only the next event makes certain. */
  function lineFeed(): Uint8Array {
    const bytes = owesLineFeed ? LF : NO_BYTES;
    owesLineFeed = false;
    return bytes;
  }

  return {
    take({ sequence, canonicalForm, event }) {
      const { payload, blankBefore } = event;
      if (payload.case === 'runFinished') {
        const { outcome, unterminatedTail, detail } = payload.value;
        isFinished = true;
        if (outcome === Outcome.REFUSED) gap = `the stream was refused and not kept: ${detail}`;
        if (unterminatedTail && blankBefore.length === 0) owesLineFeed = false;
        return Buffer.concat([lineFeed(), blankBefore]);
      }
      if (payload.case === 'historyExpired') {
        gap = `events up to ${payload.value.lastSequence} were removed by retention`;
      }
      if (payload.case === 'oversizeLine') {
        gap = `the line of ${payload.value.lineBytes} bytes at sequence ${sequence} is over the limit`;
      }
      const line = originalLine(event, canonicalForm);
      if (line === undefined && payload.case !== 'oversizeLine') return NO_BYTES;
      const before = lineFeed();
      owesLineFeed = line !== undefined;
      return Buffer.concat([before, blankBefore, line ?? NO_BYTES]);
    },
    check() {
      const why = isFinished ? gap : 'the run was not read to its end';
      if (why === '') return;
      throw new BridgeError('EXPORT_INCOMPLETE', `this is not the whole stream: ${why}`);
    },
  };
}
