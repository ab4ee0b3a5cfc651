import { create } from '@bufbuild/protobuf';
import {
  type ProtocolViolation,
  type ProtocolViolation_Rule,
  ProtocolViolationSchema,
} from '#gen/hep/event/v1/event_pb.js';
import type { TextReport } from './decode-string.js';

const maxViolations = 16;

/** What reading one line found out besides its values. */
export interface LineReport extends TextReport {
  readonly violations: ProtocolViolation[];
  /** Violations beyond the first 16. */
  dropped: number;
}

export function newLineReport(): LineReport {
  return { lossyText: false, violations: [], dropped: 0 };
}

/** `field` is a path such as `tool_results[0].ok`. */
export function addViolation(
  report: LineReport,
  rule: ProtocolViolation_Rule,
  field: string,
  detail: string,
): void {
  if (report.violations.length < maxViolations) {
    report.violations.push(create(ProtocolViolationSchema, { rule, field, detail }));
  } else {
    report.dropped++;
  }
}

/** The violations of the line, at most 16; the last one says how many more there were. */
export function reportedViolations(report: LineReport): ProtocolViolation[] {
  const last = report.violations.at(-1);
  if (last !== undefined && report.dropped > 0) last.detail += ` (+${report.dropped} more)`;
  report.dropped = 0;
  return report.violations;
}
