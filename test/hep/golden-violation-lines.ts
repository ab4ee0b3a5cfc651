import { emptyUsage, type GoldenLine, turnDone } from './golden-line.js';

/** What is wrong with a field. */
export function violationLines(): GoldenLine[] {
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

/** What the catalogue does not have. */
export function unknownLines(): GoldenLine[] {
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
