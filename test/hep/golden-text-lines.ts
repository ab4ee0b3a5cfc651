import { delta, deltaBytes, emptyUsage, type GoldenLine, turnDone } from './golden-line.js';

/** Escapes and Unicode. */
export function textLines(): GoldenLine[] {
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

/** Bytes that are no UTF-8, and some that are. */
export function byteLines(): GoldenLine[] {
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
