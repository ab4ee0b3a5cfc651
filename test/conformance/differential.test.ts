import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventSchema, MalformedLineSchema } from '#gen/hep/event/v1/event_pb.js';
import { decodeLine } from '../../src/hep/decode-line.js';
import { isBlank } from '../../src/hep/is-blank.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LINES = 20_000;
const dir = mkdtempSync(join(tmpdir(), 'hep-conform-'));
const program = join(dir, 'conform');

beforeAll(() => {
  execFileSync('go', ['build', '-o', program, './go/internal/conform'], { cwd: ROOT });
}, 120_000);

afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Sample {
  readonly line: Uint8Array;
  readonly isFirst: boolean;
}

const number = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '-0.0',
    '1.0',
    '1e3',
    '1E+2',
    '1e400',
    '1e-400',
    '5e-324',
    '1.5',
  ),
  fc.constantFrom(
    '9223372036854775807.0',
    '-9223372036854775808',
    '92233720368547758070e-1',
    '01',
    '+1',
    '.5',
    '1.',
  ),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 12 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '"\\ud83d"',
    '"\\ude00\\ud83d"',
    '"\\ud83d\\ude00"',
    '"\\/\\u0041"',
    '"\u2028"',
    '""',
  ),
);
const value: fc.Arbitrary<string> = fc.oneof(
  number,
  text,
  fc.constantFrom('true', 'false', 'null', '[]', '{}', '[1,{"a":[]}]'),
);
const types = [
  'hep_header',
  'agent_start',
  'message_start',
  'message_delta',
  'tool_start',
  'tool_delta',
  'tool_liveness',
  'turn_done',
  'turn_error',
  'cancelled',
  'compaction_start',
  'compaction_end',
  'x',
];
const keys = [
  'hep',
  'fah',
  'session',
  'turn_id',
  'role',
  'delta',
  'id',
  'name',
  'args_summary',
  'update',
  'action',
  'elapsed_ms',
  'output_bytes',
  'detail',
  'message',
  'stop_reason',
  'error',
  'fatal',
  'tokens_freed',
  'Type',
  'x',
];
const space = fc.constantFrom('', '', '', ' ', '\t', '\r');

const result = fc.oneof(
  value,
  fc
    .record({ id: text, name: text, ok: fc.oneof(value, fc.constant('true')), text })
    .map(({ id, name, ok, text: body }) => `{"id":${id},"name":${name},"ok":${ok},"text":${body}}`),
);
const member = fc.oneof(
  fc.tuple(fc.constantFrom(...keys), value).map(([key, item]) => `"${key}":${item}`),
  fc.array(result, { maxLength: 20 }).map((items) => `"tool_results":[${items.join(',')}]`),
  fc
    .tuple(value, value, fc.oneof(number, value))
    .map(([input, output, cost]) => `"usage":{"input":${input},"output":${output},"cost":${cost}}`),
);
const frame = fc
  .tuple(space, fc.constantFrom(...types), fc.array(member, { maxLength: 8 }), space)
  .map(
    ([before, type, members, after]) =>
      `${before}{${[`"type":"${type}"`, ...members].join(',')}}${after}`,
  );
const plain = fc
  .tuple(fc.nat(), text, text)
  .map(([turn, a, b]) => [
    `{"type":"message_delta","turn_id":${turn},"delta":${a}}`,
    `{"type":"tool_delta","turn_id":${turn},"id":${a},"update":${b}}`,
    `{"type":"tool_liveness","turn_id":${turn},"id":${a},"name":"b","action":"heartbeat","elapsed_ms":${turn},"detail":${b}}`,
    `{"type":"turn_done","turn_id":${turn},"message":${a},"tool_results":[],"usage":{"input":1,"output":2,"cost":0.0},"stop_reason":"stop"}`,
  ])
  .chain((lines) => fc.constantFrom(...lines));
const utf8 = (lines: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> =>
  lines.map((line) => new TextEncoder().encode(line));
/** Some bytes of a line set to others: cuts, invalid UTF-8, broken syntax. */
const mutated = fc
  .tuple(utf8(fc.oneof(frame, plain)), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }))
  .map(([line, changes]) => {
    for (const [at, byte] of changes) {
      if (line.length > 0 && byte !== 0x0a) line[at % line.length] = byte;
    }
    return line;
  });
const noise = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.json().map((json) => new TextEncoder().encode(json)),
);
const bom = Uint8Array.of(0xef, 0xbb, 0xbf);
const sample: fc.Arbitrary<Sample> = fc
  .tuple(fc.oneof(utf8(frame), utf8(plain), mutated, noise), fc.boolean(), fc.boolean())
  .map(([line, isFirst, withBom]) => ({
    line: withBom && isFirst ? Buffer.concat([bom, line]) : line,
    isFirst,
  }))
  .filter(({ line }) => !isBlank(line, 0, line.length) && !line.includes(0x0a));

function decodeHere({ line, isFirst }: Sample): string {
  const decoded = decodeLine(line, isFirst);
  const event =
    decoded.kind === 'frame'
      ? {
          payload: decoded.payload,
          lossyText: decoded.lossyText,
          violations: decoded.violations,
          line: decoded.canonical ? new Uint8Array(0) : line,
        }
      : {
          line,
          payload: { case: 'malformedLine' as const, value: create(MalformedLineSchema, decoded) },
        };
  return Buffer.from(
    toBinary(EventSchema, create(EventSchema, { ...event, sequence: 7n })),
  ).toString('hex');
}

function decodeInGo(samples: readonly Sample[]): string[] {
  const input = samples
    .map(({ line, isFirst }) => `${isFirst ? '^' : ''}${Buffer.from(line).toString('base64')}\n`)
    .join('');
  const output = execFileSync(program, { input, maxBuffer: 1 << 30 }).toString();
  return output.split('\n').slice(0, -1);
}

describe('the codecs in TypeScript and in Go', () => {
  const random = Math.floor(Math.random() * 2 ** 31);

  it.each([1, random])('make the same bytes of the same lines (seed %s)', (seed) => {
    const samples = fc.sample(sample, { numRuns: LINES, seed });
    const inGo = decodeInGo(samples);
    expect(inGo).toHaveLength(samples.length);
    const different = samples.flatMap((one, at) => {
      const here = decodeHere(one);
      const line = Buffer.from(one.line).toString('latin1');
      return inGo[at] === here ? [] : [{ line, isFirst: one.isFirst, here, inGo: inGo[at] }];
    });
    expect(different.slice(0, 5)).toEqual([]);
  });
});
