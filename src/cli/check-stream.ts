import { MalformedLine_Reason, ProtocolViolation_Rule } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../hep/decode-line.js';
import { headerVerdict } from '../hep/header-verdict.js';
import { isBlank } from '../hep/is-blank.js';
import { createOrderRules } from '../hep/order-rules.js';
import { DEFAULT_RUN_LIMITS } from '../ingest/run.js';
import { createLineSplitter } from '../ingest/split-lines.js';

/** Something about one line of a stream. */
export interface Finding {
  /** From 1; the number of lines for what only the end shows. */
  readonly line: number;
  /** `note`: worth knowing, but valid. */
  readonly severity: 'error' | 'note';
  /** The rule, in the words of the events. */
  readonly rule: string;
  /** Path of the field; empty for the whole line. */
  readonly field: string;
  readonly detail: string;
}

/** What a whole stream is. */
export interface StreamCheck {
  readonly verdict: 'valid' | 'findings' | 'refused';
  readonly lines: number;
  readonly frames: number;
  readonly errors: number;
}

export interface StreamChecker {
  push(bytes: Uint8Array): void;
  /** The source is at its end. */
  end(): StreamCheck;
}

/** Judges a stream as the bridge would, without one. `report` gets the findings in line order. */
export function createStreamChecker(report: (finding: Finding) => void): StreamChecker {
  const rules = createOrderRules();
  let lines = 0;
  let frames = 0;
  let errors = 0;
  let isRefused = false;
  let hasTerminal = false;

  function tell(
    severity: Finding['severity'],
    rule: string,
    detail: string,
    field = '',
    line = lines,
  ): void {
    if (severity === 'error') errors += 1;
    report({ line, severity, rule, field, detail });
  }

  function line(
    source: Uint8Array,
    start: number,
    end: number,
    endOffset: number,
    terminated: boolean,
  ): void {
    lines += 1;
    if (isRefused) return;
    if (isBlank(source, start, end)) {
      tell('note', 'BLANK', 'a blank line; it is kept, but is no event');
      return;
    }
    const bytes = source.subarray(start, end);
    const isFirst = endOffset - bytes.length - (terminated ? 1 : 0) === 0;
    const decoded = decodeLine(bytes, isFirst);
    if (decoded.kind === 'malformed') {
      const isCut = !terminated && decoded.reason !== MalformedLine_Reason.NOT_A_FRAME;
      const rule = isCut ? 'TRUNCATED' : (MalformedLine_Reason[decoded.reason] ?? 'MALFORMED');
      tell('error', rule, isCut ? `ends after ${bytes.length} bytes` : decoded.detail);
      return;
    }
    const { payload, violations, turnId, lossyText } = decoded;
    if (frames === 0) {
      const verdict = headerVerdict(payload);
      if (verdict !== 'ACCEPTED') {
        isRefused = true;
        const said =
          payload.case === 'hepHeader' ? `hep is ${JSON.stringify(payload.value.hep)}` : '';
        const detail = said === '' ? 'the first frame is no hep_header' : `${said}; v1 is read`;
        tell('error', verdict, detail);
        return;
      }
    }
    frames += 1;
    const { case: kind } = payload;
    if (kind === 'turnDone' || kind === 'turnError' || kind === 'cancelled') hasTerminal = true;
    if (kind === 'unknownFrame') {
      tell(
        'note',
        'UNKNOWN_TYPE',
        `type ${JSON.stringify(payload.value.type)} is carried as it is`,
      );
    }
    if (lossyText) tell('note', 'LOSSY_TEXT', 'text that is not well-formed Unicode');
    const order = rules.check(kind, turnId);
    for (const { rule, field, detail } of order === undefined
      ? violations
      : [...violations, order]) {
      tell('error', ProtocolViolation_Rule[rule] ?? String(rule), detail, field);
    }
    if (!terminated) tell('note', 'UNTERMINATED', 'the last line has no line end');
  }

  const splitter = createLineSplitter(
    {
      line,
      oversize({ lineBytes }) {
        lines += 1;
        if (isRefused) return;
        tell(
          'error',
          'OVERSIZE',
          `${lineBytes} bytes; the bridge's default limit is ${maxLineBytes}`,
        );
      },
    },
    maxLineBytes,
  );

  return {
    push: (bytes) => splitter.push(bytes),
    end() {
      splitter.end();
      if (!isRefused && frames === 0) {
        isRefused = true;
        tell('error', 'HEADER_MISSING', 'there is no frame at all');
      } else if (!isRefused && !hasTerminal) {
        const detail = 'no turn_done, turn_error or cancelled; with exit 0 the run is INCOMPLETE';
        tell('error', 'NO_TERMINAL', detail);
      }
      const verdict = isRefused ? 'refused' : errors > 0 ? 'findings' : 'valid';
      return { verdict, lines, frames, errors };
    },
  };
}

const { maxLineBytes } = DEFAULT_RUN_LIMITS;
