/** One line of the golden vectors: a fact about canonical form 1 or about odd input. */
export interface GoldenLine {
  readonly name: string;
  /** Text, or bytes where they are no UTF-8. */
  readonly line: string | Uint8Array;
  readonly atStreamStart?: boolean;
}

/** Lines that both languages must read alike; new ones are added at the end of their group. */
export function goldenLines(): GoldenLine[] {
  return [
    ...catalogueLines(),
    ...keyLines(),
    ...integerLines(),
    ...costLines(),
    ...textLines(),
    ...byteLines(),
    ...violationLines(),
    ...unknownLines(),
    ...malformedLines(),
    ...largeLines(),
  ];
}

const emptyUsage = '"usage":{"input":1,"output":2,"cost":0.0}';

function turnDone(inside: string): string {
  return `{"type":"turn_done","turn_id":1,"message":"",${inside},"stop_reason":"stop"}`;
}

function delta(escaped: string): string {
  return `{"type":"message_delta","turn_id":1,"delta":"${escaped}"}`;
}

/** `delta` with raw bytes, given in hexadecimal, as the text. */
function deltaBytes(hex: string): Uint8Array {
  const parts = [Buffer.from(delta('')).subarray(0, -2), Buffer.from(hex, 'hex'), '"}'];
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

function catalogueLines(): GoldenLine[] {
  const lines = String.raw`
{"type":"hep_header","hep":"v1","fah":"1.0.626","session":"0199c2f0-7a11-7000-8000-000000000001"}
{"type":"agent_start","turn_id":1}
{"type":"message_start","turn_id":1,"role":"assistant"}
{"type":"message_delta","turn_id":1,"delta":"Say \"hi\"\n"}
{"type":"tool_start","turn_id":1,"id":"call_7","name":"bash","args_summary":"command=\"npm test\""}
{"type":"tool_delta","turn_id":1,"id":"call_7","update":"12 passing"}
{"type":"tool_liveness","turn_id":1,"id":"call_7","name":"bash","action":"heartbeat","elapsed_ms":180000,"detail":"still running"}
{"type":"tool_liveness","turn_id":1,"id":"call_7","name":"bash","action":"heartbeat","elapsed_ms":240000,"output_bytes":2048,"detail":"still running"}
{"type":"tool_liveness","turn_id":1,"id":"call_7","name":"bash","action":"escalate","elapsed_ms":900000}
{"type":"turn_done","turn_id":1,"message":"","tool_results":[{"id":"call_7","name":"bash","ok":true,"text":"12 passing"}],"usage":{"input":812,"output":46,"cost":0.0125},"stop_reason":"toolUse"}
{"type":"turn_done","turn_id":2,"message":"All green.","tool_results":[],"usage":{"input":0,"output":0,"cost":0.0},"stop_reason":"stop"}
{"type":"turn_error","turn_id":1,"error":"upstream 529","fatal":true}
{"type":"cancelled","turn_id":3}
{"type":"compaction_start","turn_id":4}
{"type":"compaction_end","turn_id":4,"tokens_freed":15300}
{"type":"hep_header","hep":"v1.7","fah":"","session":""}
{"type":"agent_start","turn_id":0}
{"type":"message_start","turn_id":12,"role":""}
{"type":"message_delta","turn_id":0,"delta":""}
{"type":"tool_start","turn_id":0,"id":"","name":"","args_summary":""}
{"type":"tool_start","turn_id":127,"id":"c","name":"read","args_summary":"{}"}
{"type":"tool_delta","turn_id":128,"id":"","update":""}
{"type":"tool_delta","turn_id":16384,"id":"call_7_2","update":"a\nb\tc"}
{"type":"tool_liveness","turn_id":0,"id":"","name":"","action":"","elapsed_ms":0,"output_bytes":0,"detail":""}
{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"advisory","elapsed_ms":0,"output_bytes":0}
{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"cancel_retry","elapsed_ms":4294967296,"detail":""}
{"type":"turn_done","turn_id":0,"message":"","tool_results":[],"usage":{"input":0,"output":0,"cost":0.0},"stop_reason":""}
{"type":"turn_done","turn_id":1,"message":"m","tool_results":[{"id":"","name":"","ok":false,"text":""},{"id":"b","name":"read","ok":false,"text":"no…(+12 chars)"}],"usage":{"input":1,"output":2,"cost":1e-7},"stop_reason":"length"}
{"type":"turn_error","turn_id":2,"error":"","fatal":false}
{"type":"compaction_end","turn_id":4,"tokens_freed":0}`;
  return lines
    .trim()
    .split('\n')
    .map((line, index) => ({ name: `catalogue ${index + 1}`, line }));
}

function keyLines(): GoldenLine[] {
  const spaced = '{ "type" :\t"agent_start" ,\r"turn_id": 1 }';
  return [
    { name: 'keys in another order', line: '{"turn_id":1,"type":"agent_start"}' },
    { name: 'blanks between tokens', line: spaced },
    { name: 'blanks around the object', line: '  {"type":"cancelled","turn_id":3}\t ' },
    { name: 'line feed between tokens', line: '{"type":"cancelled",\n"turn_id":3}' },
    { name: 'carriage return at the end', line: '{"type":"cancelled","turn_id":3}\r' },
    { name: 'duplicate key, last wins', line: '{"type":"cancelled","turn_id":3,"turn_id":4}' },
    { name: 'duplicate type, last wins', line: '{"type":"x","type":"cancelled","turn_id":3}' },
    {
      name: 'duplicate key, last is of wrong type',
      line: '{"type":"cancelled","turn_id":3,"turn_id":"4"}',
    },
    {
      name: 'duplicate key, first is ill-formed',
      line: String.raw`{"type":"message_delta","turn_id":1,"delta":"\ud800","delta":"b"}`,
    },
    {
      name: 'duplicate usage is not merged',
      line: turnDone(
        `"tool_results":[],"usage":{"input":9,"output":9,"cost":9.0},"usage":{"input":1}`,
      ),
    },
    { name: 'escaped key', line: String.raw`{"type":"cancelled","\u0074urn_id":3}` },
    { name: 'escaped type', line: String.raw`{"type":"c\u0061ncelled","turn_id":3}` },
    { name: 'key in another case', line: '{"type":"cancelled","Turn_id":3}' },
    { name: 'type in another case', line: '{"type":"Cancelled","turn_id":3}' },
    {
      name: 'escaped key after the plain one, last wins',
      line: String.raw`{"type":"cancelled","turn_id":3,"turn\u005fid":5}`,
    },
    {
      name: 'byte order mark at stream start',
      line: '\ufeff{"type":"cancelled","turn_id":3}',
      atStreamStart: true,
    },
    {
      name: 'no byte order mark at stream start',
      line: '{"type":"cancelled","turn_id":3}',
      atStreamStart: true,
    },
    {
      name: 'prototype names are plain names',
      line: '{"type":"__proto__","constructor":{},"toString":1}',
    },
    { name: 'key of another frame', line: '{"type":"cancelled","turn_id":3,"delta":"x"}' },
  ];
}

function integerLines(): GoldenLine[] {
  const numbers = [
    '-1',
    '-0',
    '0.0',
    '0e5',
    '0.000',
    '1.0',
    '1.50e1',
    '1e3',
    '1E+3',
    '10e-1',
    '100000e-5',
    '1.5',
    '15e-1',
    '1e-1',
    '999999999999999',
    '1000000000000000',
    '9007199254740991',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '-9223372036854775809',
    '18446744073709551616',
    '9.223372036854775807e18',
    '92233720368547758070e-1',
    '9.2233720368547758070000e18',
    '9.2233720368547758071e18',
    '1e18',
    '1e19',
    '1e400',
    '1e999999999999999999999',
    '1e-999999999999999999999',
    '0e999999999999999999999',
    '-0e-999999999999999999999',
    '0.00000000000000000000000001e26',
    '100000000000000000000000000e-26',
    '123456789012345678901234567890123456789012345678901234567890',
  ];
  return [
    ...numbers.map((number) => ({
      name: `turn_id ${number}`,
      line: `{"type":"cancelled","turn_id":${number}}`,
    })),
    ...['-1', '1.0', '1.5', '9223372036854775807', '9223372036854775808'].map((number) => ({
      name: `tokens_freed ${number}`,
      line: `{"type":"compaction_end","turn_id":1,"tokens_freed":${number}}`,
    })),
    {
      name: 'elapsed_ms beyond int64',
      line: '{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"a","elapsed_ms":1e30,"output_bytes":-5}',
    },
    {
      name: 'output_bytes beyond int64',
      line: '{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"a","elapsed_ms":-1,"output_bytes":1e30}',
    },
    {
      name: 'usage beyond int64',
      line: turnDone(
        '"tool_results":[],"usage":{"input":9223372036854775807,"output":18446744073709551616,"cost":0.1}',
      ),
    },
  ];
}

function costLines(): GoldenLine[] {
  const numbers = [
    '0',
    '0.0',
    '-0',
    '-0.0',
    '1',
    '1.0',
    '-1.5',
    '1E5',
    '1e+2',
    '100000.0',
    '0.1',
    '1.10',
    '0.3',
    '0.30000000000000004',
    '0.1000000000000000055511151231257827',
    '1e-6',
    '0.000001',
    '0.0000015',
    '1e-7',
    '1.0e-7',
    '1.5e-9',
    '5e-324',
    '4.9406564584124654e-324',
    '2e-324',
    '1e-400',
    '-1e-400',
    '1e20',
    '100000000000000000000.0',
    '1e21',
    '1e+21',
    '1.2345e+25',
    '123456789012345678901234567890',
    '1.7976931348623157e308',
    '1.7976931348623157e+308',
    '1.7976931348623159e308',
    '1e400',
    '-1e400',
    '9007199254740993',
    '9007199254740993.0',
    '123456789.125',
    '0.000000000000000000000000000000000000000000001e45',
    '2.2250738585072011e-308',
    '1e23',
    '9.5e-7',
  ];
  return numbers.map((number) => ({
    name: `cost ${number}`,
    line: turnDone(`"tool_results":[],"usage":{"input":1,"output":2,"cost":${number}}`),
  }));
}

function textLines(): GoldenLine[] {
  const raw = String.raw;
  const controls = Array.from({ length: 0x20 }, (_, code) =>
    JSON.stringify(String.fromCharCode(code)).slice(1, -1),
  );
  return [
    {
      name: 'every control character as JSON.stringify escapes it',
      line: delta(controls.join('')),
    },
    ...controls.map((escaped, code) => ({
      name: `control character ${code}`,
      line: delta(escaped),
    })),
    {
      name: 'escapes with letters for what has hexadecimal form',
      line: delta(raw`\u0008\u0009\u000a\u000c\u000d`),
    },
    { name: 'upper case hexadecimal', line: delta(raw`\u001F`) },
    { name: 'escaped solidus', line: delta(raw`\/`) },
    { name: 'escaped letter', line: delta(raw`\u0041`) },
    { name: 'escaped quote in hexadecimal', line: delta(raw`\u0022\u005c`) },
    { name: 'quote and backslash', line: delta(raw`\"\\`) },
    { name: 'escaped U+00E9 and pair', line: delta(raw`\/\u0041\u00e9\ud83d\ude00`) },
    { name: 'raw U+00E9 and pair', line: delta('/Aé😀') },
    { name: 'U+2028, U+2029, U+0085, U+007F raw', line: delta('a\u2028b\u2029c\u0085d\u007f') },
    { name: 'U+2028 escaped', line: delta(raw`\u2028`) },
    { name: 'byte order mark as text', line: delta('\ufeffx') },
    { name: 'U+FFFD as text is not lossy', line: delta('\ufffd') },
    { name: 'U+FFFF and U+10FFFF', line: delta('\uffff\u{10ffff}') },
    { name: 'escaped NUL', line: delta(raw`a\u0000b`) },
    { name: 'HTML characters raw', line: delta('<a href=x>&</a>') },
    { name: 'lone high surrogate', line: delta(raw`ok \ud83d`) },
    { name: 'lone low surrogate', line: delta(raw`\ude00 ok`) },
    { name: 'surrogates in the wrong order', line: delta(raw`\ude00\ud83d`) },
    { name: 'high, high, low', line: delta(raw`\ud83d\ud83d\ude00`) },
    { name: 'high surrogate before a letter', line: delta(raw`\ud83dx\ude00`) },
    { name: 'high surrogate before another escape', line: delta(raw`\ud83d\n`) },
    { name: 'surrogate escapes in upper case', line: delta(raw`\uD83D\uDE00`) },
    {
      name: 'lone surrogate in a tool id',
      line: raw`{"type":"tool_start","turn_id":1,"id":"c\ud800","name":"bash","args_summary":"x"}`,
    },
    {
      name: 'lone surrogate in a tool result',
      line: turnDone(
        raw`"tool_results":[{"id":"a","name":"b","ok":true,"text":"\ud83d…(+1 chars)"}],${emptyUsage}`,
      ),
    },
    {
      name: 'lone surrogate in an unknown key and field is not lossy',
      line: raw`{"type":"cancelled","turn_id":3,"x\ud800":"\ud800"}`,
    },
    {
      name: 'lone surrogate in an unknown field of a tool result is not lossy',
      line: turnDone(
        raw`"tool_results":[{"id":"a","name":"b","ok":true,"text":"","x":"\ud800"}],${emptyUsage}`,
      ),
    },
    { name: 'lone surrogate in an unknown type name', line: raw`{"type":"x\udfff"}` },
  ];
}

function byteLines(): GoldenLine[] {
  const sequences = [
    'fffe',
    'eda0bd',
    'c0af',
    'f09f98',
    '80',
    'c3',
    'c328',
    'e282',
    'e28228',
    'e0808080',
    'e09f80',
    'f0808080',
    'f08f8080',
    'f4908080',
    'f5808080',
    'f8888080',
    'f09f9878',
    'f09ff09f9880',
    'ed9fbf',
    'ee8080',
    'edb080',
    'c2c2a0',
    'e1a0c3a9',
    'f1808041',
    'efbfbd',
    'efbbbf',
  ];
  const afterEscape = Buffer.concat([Buffer.from('\\ud83d'), Buffer.from('edb880', 'hex')]);
  return [
    ...sequences.map((hex) => ({ name: `bytes ${hex} in a string`, line: deltaBytes(hex) })),
    {
      name: 'sequence cut by an escape',
      line: deltaBytes(`f09f98${Buffer.from('\\n').toString('hex')}80`),
    },
    {
      name: 'escaped high surrogate before raw bytes of a low one',
      line: deltaBytes(afterEscape.toString('hex')),
    },
    {
      name: 'invalid bytes in an unknown key are not lossy',
      line: Buffer.concat([
        Buffer.from('{"type":"cancelled","turn_id":3,"'),
        Buffer.from('ff', 'hex'),
        Buffer.from('":1}'),
      ]),
    },
    {
      name: 'invalid bytes in an unknown field are not lossy',
      line: Buffer.concat([
        Buffer.from('{"type":"cancelled","turn_id":3,"x":"'),
        Buffer.from('ff', 'hex'),
        Buffer.from('"}'),
      ]),
    },
    {
      name: 'invalid bytes in the type',
      line: Buffer.concat([Buffer.from('{"type":"'), Buffer.from('ff', 'hex'), Buffer.from('"}')]),
    },
  ];
}

function violationLines(): GoldenLine[] {
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
  ];
  const values = ['"1"', '1', 'true', 'false', 'null', '[1]', '{"a":1}'];
  const wrong = (value: string): string =>
    `{"type":"turn_done","turn_id":${value},"message":${value},"tool_results":${value},"usage":${value},"stop_reason":${value}}`;
  return [
    ...types.map((type) => ({ name: `${type} without any key`, line: `{"type":"${type}"}` })),
    ...values.map((value) => ({ name: `turn_done with ${value} everywhere`, line: wrong(value) })),
    ...values.map((value) => ({
      name: `turn_error with ${value} for fatal`,
      line: `{"type":"turn_error","turn_id":1,"error":"e","fatal":${value}}`,
    })),
    ...values.map((value) => ({
      name: `tool_liveness with ${value} for optional keys`,
      line: `{"type":"tool_liveness","turn_id":1,"id":"c","name":"n","action":"a","elapsed_ms":1,"output_bytes":${value},"detail":${value}}`,
    })),
    ...values.map((value) => ({
      name: `usage with ${value} inside`,
      line: turnDone(
        `"tool_results":[],"usage":{"input":${value},"output":${value},"cost":${value}}`,
      ),
    })),
    { name: 'usage empty', line: turnDone('"tool_results":[],"usage":{}') },
    { name: 'usage with cost only', line: turnDone('"tool_results":[],"usage":{"cost":0.5}') },
    { name: 'usage absent', line: turnDone('"tool_results":[]') },
    {
      name: 'usage with spaces and unknown key',
      line: turnDone('"tool_results":[],"usage":{ "input" : 1 , "output":2,"cost":0.0,"cache":7}'),
    },
    {
      name: 'tool results of every kind',
      line: turnDone(`"tool_results":[${values.join(' , ')},{}],${emptyUsage}`),
    },
    {
      name: 'tool result with wrong types',
      line: turnDone(`"tool_results":[{"id":1,"name":null,"ok":"true","text":[]}],${emptyUsage}`),
    },
    {
      name: 'tool result in another key order',
      line: turnDone(`"tool_results":[{"text":"t","ok":true,"name":"n","id":"i"}],${emptyUsage}`),
    },
    { name: 'empty tool results with a blank', line: turnDone(`"tool_results":[ ],${emptyUsage}`) },
    { name: 'sixteen violations', line: turnDone(`"tool_results":[{},{},{},{}],${emptyUsage}`) },
    {
      name: 'seventeen violations',
      line: turnDone(`"tool_results":[{},{},{},{},1],${emptyUsage}`),
    },
    {
      name: 'one hundred and two violations',
      line: `{"type":"turn_done","tool_results":[${'1,'.repeat(98)}1]}`,
    },
    { name: 'number text of 40 bytes', line: `{"type":"cancelled","turn_id":${'1'.repeat(40)}}` },
    { name: 'number text of 41 bytes', line: `{"type":"cancelled","turn_id":${'1'.repeat(41)}}` },
  ];
}

function unknownLines(): GoldenLine[] {
  return [
    {
      name: 'unknown type',
      line: '{"type":"x.future/frame","turn_id":1,"nested":{"a":[1,{"b":null}]},"big":9007199254740993}',
    },
    { name: 'unknown type alone', line: '{"type":"x"}' },
    { name: 'unknown type with text', line: '{"type":"größe 😀"}' },
    { name: 'type with a blank', line: '{"type":" "}' },
    {
      name: 'unknown field in a header',
      line: '{"type":"hep_header","hep":"v1","fah":"9.9.9","session":"s1","caps":["x"],"n":18446744073709551615}',
    },
    {
      name: 'unknown field at the end',
      line: '{"type":"message_delta","turn_id":1,"delta":"hi","lang":"de","delta2":""}',
    },
    {
      name: 'unknown field before',
      line: '{"v":{},"type":"message_delta","turn_id":1,"delta":"hi"}',
    },
    {
      name: 'unknown fields inside',
      line: '{"type":"turn_done","turn_id":1,"message":"hi","tool_results":[{"id":"c1","name":"bash","ok":true,"text":"x","mime":"text/plain"}],"usage":{"input":1,"output":2,"cost":0.0,"cache":7},"stop_reason":"brand_new_reason"}',
    },
    {
      name: 'unknown field with known keys inside',
      line: '{"type":"cancelled","x":{"turn_id":9},"turn_id":3}',
    },
    {
      name: 'unknown field nested 300 deep',
      line: `{"type":"cancelled","turn_id":3,"x":${'[{"a":'.repeat(150)}1${'}]'.repeat(150)}}`,
    },
  ];
}

function malformedLines(): GoldenLine[] {
  const texts = [
    ' ',
    'x',
    '{',
    '{"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{"a" 1}',
    '{a:1}',
    "{'a':1}",
    '{"a":1}}',
    '{"a":1} x',
    '{"type":"cancelled","turn_id":3}{"type":"cancelled","turn_id":3}',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1}',
    '{"a":1]',
    ']',
    '}',
    ',',
    ':',
    'tru',
    'truE',
    'true1',
    'nul',
    'nulL',
    'falsy',
    'NaN',
    'Infinity',
    '-',
    '+1',
    '01',
    '-01',
    '1.',
    '.5',
    '1.e5',
    '1e',
    '1e+',
    '1ex',
    '0x1',
    '1_000',
    '--1',
    '"',
    '"a',
    '"\\',
    '"\\x"',
    '"\\u',
    '"\\u12',
    '"\\u12g4"',
    '"\t"',
    '"\u0000"',
    '\u0000',
    '{"type":"message_delta","turn_id":1,"delta":"a\tb"}',
    '\ufeff{"type":"cancelled","turn_id":3}',
    '{"type":"cancelled",\ufeff"turn_id":3}',
    '\u00a0{}',
    '\u2028{}',
    '// c',
    '{"type":"cancelled"/**/}',
    '(node:12) Warning: something',
    '[log_9dd16b] sending request',
    '{"type":"turn_done","turn_id":1,"message":"hi","tool_results',
    `${'['.repeat(200)}${']'.repeat(199)}`,
    `${'{"a":'.repeat(100)}`,
  ];
  const hex = ['ff', '7b7d80', '22ff', '7bff', 'efbbbf', 'efbb', 'c3', '22c3'];
  const values = [
    '[{"type":"agent_start","turn_id":1}]',
    '"text"',
    '""',
    '42',
    '-0.5e+10',
    'null',
    'true',
    'false',
    '{}',
    '[]',
    ' [] ',
    '{"turn_id":1}',
    '{"type":7}',
    '{"type":""}',
    '{"type":null}',
    '{"type":true}',
    '{"type":[]}',
    '{"type":{}}',
    '{"Type":"agent_start","turn_id":1}',
    '{"type":"x","type":1}',
    '{"x":{"type":"cancelled"}}',
    `${'['.repeat(200)}${']'.repeat(200)}`,
  ];
  return [
    ...[...texts, ...values].map((line) => ({
      name: `malformed ${JSON.stringify(line).slice(1, 61)} (${line.length})`,
      line,
    })),
    ...hex.map((bytes) => ({ name: `malformed bytes ${bytes}`, line: Buffer.from(bytes, 'hex') })),
    { name: 'ill-formed string that is no frame', line: Buffer.from('22ff22', 'hex') },
    { name: 'byte order mark alone at stream start', line: '\ufeff', atStreamStart: true },
    { name: 'two byte order marks at stream start', line: '\ufeff\ufeff{}', atStreamStart: true },
    {
      name: 'blank before the byte order mark at stream start',
      line: ' \ufeff{}',
      atStreamStart: true,
    },
    {
      name: 'error after the byte order mark at stream start',
      line: '\ufeff{x',
      atStreamStart: true,
    },
  ];
}

function largeLines(): GoldenLine[] {
  return [
    ...[126, 127, 128, 129, 130, 16380, 16384].map((count) => ({
      name: `delta of ${count} bytes`,
      line: delta('x'.repeat(count)),
    })),
    { name: 'delta of 4000 newlines', line: delta('\\n'.repeat(4000)) },
    { name: 'delta of 3000 emoji', line: delta('😀'.repeat(3000)) },
    {
      name: 'turn_done with 40 results',
      line: turnDone(
        `"tool_results":[${Array.from({ length: 40 }, (_, index) => `{"id":"call_${index}","name":"bash","ok":${index % 3 !== 0},"text":"line ${index}\\nend"}`).join(',')}],${emptyUsage}`,
      ),
    },
  ];
}
