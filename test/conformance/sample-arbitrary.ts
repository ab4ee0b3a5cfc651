import fc from 'fast-check';
import { isBlank } from '../../src/hep/is-blank.js';
import { mutatedLine } from '../hep/mutated-line.js';

/** A line of a stream, without its line feed. */
export interface Sample {
  readonly line: Uint8Array;
  readonly isFirst: boolean;
}

/** Digits, point and exponent that may make up for one another. */
const longNumber = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.constantFrom('0', '1', '25', '9223372036854775807', '9223372036854775808'),
    fc.nat(400),
    fc.constantFrom('', '.0', '.5', '.000001', '.'.padEnd(60, '0'), `.${'0'.repeat(330)}7`),
    fc.constantFrom('e', 'E', 'e+', 'e-'),
    fc.oneof(
      fc.nat(420).map(String),
      fc.constantFrom('0', '00001', '2147483648', '99999999999999999999'),
    ),
  )
  .map(([sign, digits, zeros, fraction, e, exponent]) => {
    const whole = digits === '0' ? digits : digits + '0'.repeat(zeros);
    return `${sign}${whole}${fraction}${e}${exponent}`;
  });
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
  longNumber,
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
  fc.nat(40).map((depth) => `${'[{"a":'.repeat(depth)}0${'}]'.repeat(depth)}`),
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
  'type',
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
const escaped = (key: string): string =>
  [...key].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const key = fc
  .tuple(fc.constantFrom(...keys), fc.nat(9))
  .map(([name, odds]) => (odds === 0 ? escaped(name) : name));
const member = fc.oneof(
  fc
    .tuple(key, value, space, space, space)
    .map(([name, item, before, between, after]) => `"${name}"${before}:${between}${item}${after}`),
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
/** Lines that are frames, nearly frames, other JSON or noise; none is blank. */
export const sample: fc.Arbitrary<Sample> = fc
  .tuple(
    fc.oneof(utf8(frame), utf8(plain), mutated, mutatedLine, noise),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([line, isFirst, withBom]) => ({
    line: withBom && isFirst ? Buffer.concat([bom, line]) : line,
    isFirst,
  }))
  .filter(({ line }) => !isBlank(line, 0, line.length) && !line.includes(0x0a));
