/** One line of the golden vectors: a fact about canonical form 1 or about odd input. */
export interface GoldenLine {
  readonly name: string;
  /** Text, or bytes where they are no UTF-8. */
  readonly line: string | Uint8Array;
  readonly atStreamStart?: boolean;
}

/** A usage that is canonical and without a finding. */
export const emptyUsage = '"usage":{"input":1,"output":2,"cost":0.0}';

/** turn_done with `inside` between message and stop_reason. */
export function turnDone(inside: string): string {
  return `{"type":"turn_done","turn_id":1,"message":"",${inside},"stop_reason":"stop"}`;
}

/** message_delta with the text `escaped`, given as it stands between the quotes. */
export function delta(escaped: string): string {
  return `{"type":"message_delta","turn_id":1,"delta":"${escaped}"}`;
}

/** `delta` with raw bytes, given in hexadecimal, as the text. */
export function deltaBytes(hex: string): Uint8Array {
  const parts = [Buffer.from(delta('')).subarray(0, -2), Buffer.from(hex, 'hex'), '"}'];
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}
