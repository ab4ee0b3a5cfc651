#!/usr/bin/env node
// A stand-in agent that goes by a plan (plan.ts) and keeps a journal of what it did (agent-journal.ts).
import { spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const plan = JSON.parse(process.argv[2] ?? '');
const { variant } = plan;
const journal = openSync(plan.journal, 'a');
let offset = 0;

function note(entry) {
  writeSync(journal, `${JSON.stringify(entry)}\n`);
}

/** In the journal before it is written, and once more behind it: what was cut in between may be there. */
function write(text) {
  note({ kind: 'line', at: offset, text });
  const bytes = Buffer.from(text);
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
  } catch (error) {
    note({ kind: 'broken', code: error.code });
    end(1);
  }
  offset += bytes.length;
  note({ kind: 'wrote', to: offset });
}

function end(code) {
  note({ kind: 'exit', code });
  process.exit(code);
}

const frame = (value) => write(`${JSON.stringify(value)}\n`);
const usage = { input: 1, output: 2, cost: 0.5 };
const terminals = {
  done: {
    type: 'turn_done',
    turn_id: 1,
    message: 'hi',
    tool_results: [],
    usage,
    stop_reason: 'stop',
  },
  error: { type: 'turn_error', turn_id: 1, error: 'no', fatal: true },
};

/** A process that holds stdout: in the agent's group, or, by two forks and a session, out of it. */
function fork() {
  const told = `echo "{\\"kind\\":\\"child\\",\\"pid\\":$!}" >> "$0"`;
  const how = variant === 'escapee' ? 'setsid sleep 60' : 'sleep 60';
  const script = `${how} & ${told}`;
  spawn('sh', ['-c', script, plan.journal], { stdio: ['ignore', 'inherit', 'ignore'] });
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  if (variant === 'stubborn') process.on(signal, () => note({ kind: 'signal', signal }));
}
if (variant === 'polite') {
  let isAsked = false;
  process.on('SIGINT', async () => {
    note({ kind: 'signal', signal: 'SIGINT' });
    if (isAsked) return;
    isAsked = true;
    await delay(plan.lingerMs / 4);
    frame({ type: 'cancelled', turn_id: 1 });
    end(130);
  });
}
// From here on no signal finds the agent without its handlers.
note({ kind: 'born', pid: process.pid });

frame({ type: 'hep_header', hep: 'v1', fah: '1', session: plan.runId });
frame({ type: 'agent_start', turn_id: 1 });
for (const [at, pauseMs] of plan.pauses.entries()) {
  await delay(pauseMs);
  if (at === plan.forkAt && (variant === 'grandchild' || variant === 'escapee')) fork();
  frame({ type: 'message_delta', turn_id: 1, delta: `${at} ${'x'.repeat(pauseMs)}` });
}
const terminal = terminals[plan.terminal];
if (terminal !== undefined) frame(terminal);
if (variant === 'closer') {
  closeSync(1);
  await delay(plan.lingerMs);
}
if (variant === 'cut') write('{"type":"message_delta","turn_id":1,"del');
end(plan.exitCode);
