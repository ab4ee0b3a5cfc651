#!/usr/bin/env node
// A stand-in for an agent's command line: it prints HEP v1 as `fa --output events` does, byte for
// byte in the forms that the real one uses, and keeps a journal of what it wrote by a way of its own.
import { appendFileSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const HELP = `agent.mjs [--rounds N] [--pace-ms N] [--journal FILE] [--prompt-file FILE] [--forever] [--exit-code N]

  --rounds N          model rounds, the last of which answers (default 3)
  --pace-ms N         pause between two frames (default 5)
  --journal FILE      appends each line here before it goes to stdout
  --journal-dir DIR   the same, in DIR/<run id>.jsonl (HEP_RUN_ID names the run)
  --prompt-file FILE  the user's text; the answer repeats its first line
  --forever           streams until it is told to stop
  --exit-code N       ends with N instead of 0

SIGINT and SIGTERM end the round as cancelled, with exit code 130.`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    'pace-ms': { type: 'string', default: '5' },
    journal: { type: 'string' },
    'journal-dir': { type: 'string' },
    'prompt-file': { type: 'string' },
    forever: { type: 'boolean', default: false },
    'exit-code': { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}

const paceMs = Number(options['pace-ms']);
const rounds = Number(options.rounds);
const runId = process.env.HEP_RUN_ID ?? 'no-run-id';
const journal =
  options.journal ?? (options['journal-dir'] && `${options['journal-dir']}/${runId}.jsonl`);
if (journal) writeFileSync(journal, '');
const prompt = options['prompt-file'] ? readFileSync(options['prompt-file'], 'utf8') : '';

let cancelled = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    cancelled = true;
  });
}

/** One line, to the journal first: what stands there is at least what stdout got. */
function print(line) {
  if (journal) appendFileSync(journal, `${line}\n`);
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

/** Dart writes a double always with a point or an exponent. */
function dartDouble(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

async function emit(type, members) {
  const json = JSON.stringify({ type, ...members });
  print(json);
  if (paceMs > 0) await delay(paceMs);
}

/** Its usage has a double, which JSON.stringify would not write as Dart does. */
async function turnDone(turn, message, results, cost, stopReason) {
  const head = JSON.stringify({ type: 'turn_done', turn_id: turn, message, tool_results: results });
  const usage = `{"input":${800 + turn * 12},"output":${40 + turn},"cost":${dartDouble(cost)}}`;
  print(`${head.slice(0, -1)},"usage":${usage},"stop_reason":"${stopReason}"}`);
  if (paceMs > 0) await delay(paceMs);
}

async function say(turn, words) {
  await emit('message_start', { turn_id: turn, role: 'assistant' });
  for (const word of words) {
    if (cancelled) return;
    await emit('message_delta', { turn_id: turn, delta: word });
  }
}

async function endIfCancelled(turn) {
  if (!cancelled) return;
  await emit('cancelled', { turn_id: turn });
  process.exit(130);
}

/** Two calls at once: the updates of the first may come before the start of the second. */
async function toolRound(turn) {
  await say(turn, ['Let me ', 'look at ', 'that.']);
  await endIfCancelled(turn);
  const calls = [
    { id: `call_${turn}a`, name: 'bash', args: 'command="npm test"', text: '12 passing' },
    {
      id: `call_${turn}b`,
      name: 'read',
      args: 'path="notes.txt"',
      text: 'line one\nline\u2028two',
    },
  ];
  for (const { id, name, args } of calls) {
    await emit('tool_start', { turn_id: turn, id, name, args_summary: args });
    await emit('tool_delta', { turn_id: turn, id: calls[0].id, update: `running ${name}` });
  }
  const watched = { turn_id: turn, id: calls[0].id, name: 'bash' };
  await emit('tool_liveness', {
    ...watched,
    action: 'heartbeat',
    elapsed_ms: 180000,
    detail: 'still running',
  });
  await emit('tool_liveness', {
    ...watched,
    action: 'cancel_retry',
    elapsed_ms: 300000,
    output_bytes: 10,
  });
  await emit('tool_liveness', { ...watched, action: 'heartbeat', elapsed_ms: 60000 });
  await endIfCancelled(turn);
  const results = calls.map(({ id, name, text }) => ({ id, name, ok: true, text }));
  await turnDone(turn, '', results, turn === 1 ? 0.0125 : 1e-7, 'toolUse');
}

/** Text that breaks careless bridges: half a surrogate pair, separators, escapes, an emoji in two. */
const ODD_TEXT = [
  'caf\u00e9 ',
  '\u2028\u2029\u0085 ',
  '\ud83d',
  '\ude00 ',
  '"\\/\b\f\n\r\t\u0001 ',
  '',
];

async function run() {
  const session = `0199c2f0-7a11-7000-8000-${String(process.pid).padStart(12, '0')}`;
  await emit('hep_header', { hep: 'v1', fah: '1.0.626', session });
  await emit('compaction_start', { turn_id: 1 });
  await emit('compaction_end', { turn_id: 1, tokens_freed: 15300 });
  await emit('agent_start', { turn_id: 1 });
  for (let turn = 1; turn < rounds; turn += 1) await toolRound(turn);
  const answer = `All green. ${prompt.split('\n')[0]}`.trim();
  await say(rounds, [...ODD_TEXT, ...answer.split(/(?<= )/)]);
  while (options.forever && !cancelled) {
    await emit('message_delta', { turn_id: rounds, delta: 'and on ' });
  }
  await endIfCancelled(rounds);
  // A frame and a field that a bridge of today does not know.
  print(`{"type":"x.future/frame","turn_id":${rounds},"big":9007199254740993}`);
  await turnDone(rounds, answer, [], 0, 'stop');
  await emit('compaction_start', { turn_id: rounds + 1 });
  await emit('compaction_end', { turn_id: rounds + 1, tokens_freed: 0 });
  process.stderr.write(`fa-tokens: rounds=${rounds}\n`);
  process.exitCode = Number(options['exit-code']);
}

await run();
