import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import {
  AgentStartSchema,
  CancelledSchema,
  CompactionEndSchema,
  CompactionStartSchema,
  HepHeaderSchema,
  MessageDeltaSchema,
  MessageStartSchema,
  ToolDeltaSchema,
  ToolLivenessSchema,
  ToolResultSchema,
  ToolStartSchema,
  TurnDoneSchema,
  TurnErrorSchema,
  UsageSchema,
} from '#gen/hep/frame/v1/frame_pb.js';
import type { FramePayload } from '../../src/hep/frame-kind.js';

/** Well-formed text, often with what JSON escapes and what UTF-8 makes long. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\t',
      '\r',
      '\b',
      '\f',
      '\0',
      '\x1f',
      '/',
      'a',
      'é',
      '\u2028',
      '中',
      '\ufffd',
      '\ufeff',
      '😀',
    ),
    maxLength: 60,
  }),
  fc.integer({ min: 110, max: 140 }).map((length) => 'x'.repeat(length)),
);

/** Integers that the fast path takes: without sign, at most 15 digits. */
export const hotInteger: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt(0n, 300n),
  fc.bigInt(0n, 10n ** 15n - 1n),
  fc.constantFrom(0n, 127n, 128n, 16383n, 16384n, 2n ** 31n, 2n ** 32n, 10n ** 15n - 1n),
);

const int64 = fc.oneof(hotInteger, fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n));
const price = fc.double({ noNaN: true, noDefaultInfinity: true });

/** Frames of the hot types; with `integer` from the fast path's range all their text is hot. */
export function hotFrame(integer: fc.Arbitrary<bigint>): fc.Arbitrary<FramePayload> {
  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
  return fc.oneof(
    fc
      .record({ turnId: integer, delta: text })
      .map((init) => ({ case: 'messageDelta', value: create(MessageDeltaSchema, init) }) as const),
    fc
      .record({ turnId: integer, id: text, update: text })
      .map((init) => ({ case: 'toolDelta', value: create(ToolDeltaSchema, init) }) as const),
    fc
      .record({ turnId: integer, id: text, name: text, argsSummary: text })
      .map((init) => ({ case: 'toolStart', value: create(ToolStartSchema, init) }) as const),
    fc
      .record({
        turnId: integer,
        id: text,
        name: text,
        action: text,
        elapsedMs: integer,
        outputBytes: optional(integer),
        detail: optional(text),
      })
      .map((init) => ({ case: 'toolLiveness', value: create(ToolLivenessSchema, init) }) as const),
  );
}

const turnDone = fc
  .record({
    turnId: int64,
    message: text,
    toolResults: fc.array(
      fc
        .record({ id: text, name: text, ok: fc.boolean(), text })
        .map((init) => create(ToolResultSchema, init)),
      { maxLength: 3 },
    ),
    usage: fc
      .record({ input: int64, output: int64, cost: price })
      .map((init) => create(UsageSchema, init)),
    stopReason: text,
  })
  .map((init) => ({ case: 'turnDone', value: create(TurnDoneSchema, init) }) as const);

/** Frames of every type of the catalogue, with every required key. */
export const frame: fc.Arbitrary<FramePayload> = fc.oneof(
  hotFrame(int64),
  turnDone,
  fc
    .record({ hep: text, fah: text, session: text })
    .map((init) => ({ case: 'hepHeader', value: create(HepHeaderSchema, init) }) as const),
  fc
    .record({ turnId: int64 })
    .map((init) => ({ case: 'agentStart', value: create(AgentStartSchema, init) }) as const),
  fc
    .record({ turnId: int64, role: text })
    .map((init) => ({ case: 'messageStart', value: create(MessageStartSchema, init) }) as const),
  fc
    .record({ turnId: int64, error: text, fatal: fc.boolean() })
    .map((init) => ({ case: 'turnError', value: create(TurnErrorSchema, init) }) as const),
  fc
    .record({ turnId: int64 })
    .map((init) => ({ case: 'cancelled', value: create(CancelledSchema, init) }) as const),
  fc
    .record({ turnId: int64 })
    .map(
      (init) => ({ case: 'compactionStart', value: create(CompactionStartSchema, init) }) as const,
    ),
  fc
    .record({ turnId: int64, tokensFreed: int64 })
    .map((init) => ({ case: 'compactionEnd', value: create(CompactionEndSchema, init) }) as const),
);
