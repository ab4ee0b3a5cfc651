import { type GoldenLine, turnDone } from './golden-line.js';

/** The catalogue as the harness prints it, and its edges. */
export function catalogueLines(): GoldenLine[] {
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

/** Keys, blanks and the byte order mark. */
export function keyLines(): GoldenLine[] {
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
