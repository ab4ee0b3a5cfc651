#!/usr/bin/env node
// A stand-in for an agent's command line: it prints HEP v1 as `fa --output events` does, byte for
// byte in the forms that the real one uses, and keeps a journal of what it wrote by a way of its own.
import { appendFileSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const HELP = `agent.mjs [--rounds N] [--pace-ms N] [--seed N] [--journal FILE] [--prompt-file FILE] [--forever] [--exit-code N]

  --rounds N          model rounds, the last of which answers (default 3)
  --pace-ms N         pause between two frames (default 5)
  --seed N            the same one gives the same stream (default: the process id)
  --journal FILE      appends each line here before it goes to stdout
  --journal-dir DIR   the same, in DIR/<run id>.jsonl (HEP_RUN_ID names the run)
  --prompt-file FILE  the user's text; the answer repeats its first line
  --forever           streams until it is told to stop
  --exit-code N       ends with N instead of 0

SIGINT and SIGTERM end the round as cancelled, with exit code 130; a second SIGTERM ends it at once, with 143.`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    'pace-ms': { type: 'string', default: '5' },
    seed: { type: 'string', default: String(process.pid) },
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
const random = randomOf(Number(options.seed));
const runId = process.env.HEP_RUN_ID ?? 'no-run-id';
const journal =
  options.journal ?? (options['journal-dir'] && `${options['journal-dir']}/${runId}.jsonl`);
if (journal) writeFileSync(journal, '');
const prompt = options['prompt-file'] ? readFileSync(options['prompt-file'], 'utf8') : '';

let cancelled = false;
let terms = 0;
process.on('SIGINT', () => {
  cancelled = true;
});
process.on('SIGTERM', () => {
  terms += 1;
  if (terms > 1) process.exit(143);
  cancelled = true;
});

/** Numbers from 0 to below 1; the same seed gives the same ones (mulberry32). */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A Dart double: printed always with a point or an exponent. */
class Double {
  constructor(value) {
    this.value = value;
  }
}

/** JSON as Dart prints it: numbers and bigints are its integers, `Double` its doubles. */
function encode(value) {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Double) {
    const text = String(value.value);
    return /[.e]/.test(text) ? text : `${text}.0`;
  }
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `"${key}":${encode(member)}`);
  return `{${members.join(',')}}`;
}

/** One frame, to the journal first: what stands there is at least what stdout got. */
async function emit(type, members) {
  const line = Buffer.from(`${encode({ type, ...members })}\n`);
  if (journal) appendFileSync(journal, line);
  for (let at = 0; at < line.length; ) at += writeSync(1, line, at);
  if (paceMs > 0) await delay(paceMs);
}

/** As the harness cuts a tool's output: at 2000 UTF-16 units, also between the halves of a pair. */
function cut(text) {
  return text.length > 2000 ? `${text.slice(0, 2000)}…(+${text.length - 2000} chars)` : text;
}

/** Streams the text and returns what was said of it before a cancel. */
async function say(turn, pieces) {
  await emit('message_start', { turn_id: turn, role: 'assistant' });
  let said = '';
  for (const piece of pieces) {
    if (cancelled) break;
    await emit('message_delta', { turn_id: turn, delta: piece });
    said += piece;
  }
  return said;
}

async function turnDone(turn, message, results, cost, stopReason) {
  const usage = {
    input: 800 + Math.floor(random() * 200),
    output: 40 + Math.floor(random() * 20),
    cost: new Double(cost),
  };
  const tool_results = results.map(({ id, name, ok, text }) => ({ id, name, ok, text: cut(text) }));
  await emit('turn_done', { turn_id: turn, message, tool_results, usage, stop_reason: stopReason });
}

async function endIfCancelled(turn) {
  if (!cancelled) return;
  await emit('cancelled', { turn_id: turn });
  process.exit(130);
}

/** The watchdog: a first attempt is cancelled and tried again; every other round gives up on it. */
async function watch(turn, { id, name }) {
  const call = { turn_id: turn, id, name };
  const late = { ...call, action: 'heartbeat', elapsed_ms: 180000 };
  await emit('tool_liveness', { ...late, detail: 'still running' });
  await emit('tool_liveness', { ...call, action: 'cancel_retry', elapsed_ms: 300000 });
  // The clock of a heartbeat begins again with the retry.
  await emit('tool_liveness', { ...late, output_bytes: 9007199254740993n });
  if (turn % 2 === 1) return true;
  await emit('tool_liveness', { ...call, action: 'escalate', elapsed_ms: 600000, detail: 'stuck' });
  return false;
}

/** Two calls at once, whose updates mix: that of the first may come before the start of the second. */
async function toolRound(turn) {
  const said = await say(turn, turn === 1 ? ['Let me ', 'look at ', 'that.'] : []);
  await endIfCancelled(turn);
  const bash = { id: `call_${turn}a`, name: 'bash', args: 'command="npm test"' };
  const read = { id: `call_${turn}b`, name: 'read', args: 'path="notes.txt"' };
  for (const { id, name, args } of [bash, read]) {
    await emit('tool_start', { turn_id: turn, id, name, args_summary: args });
    await emit('tool_delta', { turn_id: turn, id: bash.id, update: `until ${name}: 5 passing` });
  }
  await emit('tool_delta', { turn_id: turn, id: read.id, update: '"\\/\b\f\n\r\t\u0001\u007f' });
  await emit('tool_delta', { turn_id: turn, id: bash.id, update: '12 passing' });
  const ok = await watch(turn, bash);
  // The 2000th unit of the second text is half of a pair.
  const texts = cancelled
    ? ['cancelled', 'cancelled']
    : [
        ok ? '12 passing' : 'gave up',
        `line one\nline\u2028two${'.'.repeat(1982)}\u{1f600}\u{1f600}`,
      ];
  const results = [
    { ...bash, ok: ok && !cancelled, text: texts[0] },
    { ...read, ok: !cancelled, text: texts[1] },
  ];
  await turnDone(turn, said, results, ok ? 0.0125 : 1e-7, 'toolUse');
  if (!cancelled) return;
  // A cancel during tools ends this round with their results, and the next one as cancelled.
  await emit('message_start', { turn_id: turn + 1, role: 'assistant' });
  await endIfCancelled(turn + 1);
}

/** Text that breaks careless bridges: separators that are no line ends, nothing, a pair in halves. */
const ODD_TEXT = ['caf\u00e9 ', '\u2028\u2029\u0085 ', '', '\ud83d', '\ude00 '];

async function run() {
  const tail = Math.floor(random() * 2 ** 48).toString(16);
  const session = `0199c2f0-7a11-7000-8000-${tail.padStart(12, '0')}`;
  await emit('hep_header', { hep: 'v1', fah: '1.0.626', session });
  await emit('compaction_start', { turn_id: 1 });
  await emit('compaction_end', { turn_id: 1, tokens_freed: 15300 });
  await emit('agent_start', { turn_id: 1 });
  for (let turn = 1; turn < rounds; turn += 1) await toolRound(turn);
  const answer = `All green. ${prompt.split('\n')[0]}`.trim();
  const said = await say(rounds, [...ODD_TEXT, ...answer.split(/(?<= )/)]);
  while (options.forever && !cancelled) {
    await emit('message_delta', { turn_id: rounds, delta: 'and on ' });
  }
  await endIfCancelled(rounds);
  // A frame and a field that a bridge of today does not know.
  await emit('x.future/frame', { turn_id: rounds, big: 18446744073709551615n });
  await turnDone(rounds, said, [], 0, 'stop');
  await emit('compaction_start', { turn_id: rounds + 1 });
  await emit('compaction_end', { turn_id: rounds + 1, tokens_freed: 0 });
  process.stderr.write(`fa-tokens: rounds=${rounds}\n`);
  process.exitCode = Number(options['exit-code']);
}

await run();
