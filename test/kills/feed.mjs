#!/usr/bin/env node
// An Ingest client: runs an agent here and streams it with resume, to whichever bridge answers.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startLocalAgent } from '../../dist/cli/local-agent.js';
import { createAgentStop, gracesOf } from '../../dist/cli/stop-agent.js';
import { connectBridge } from '../../dist/client/connect-bridge.js';
import { ingestWithResume } from '../../dist/client/ingest-with-resume.js';

const openForMs = 20_000;
const {
  runId,
  journal: journalFile,
  bridges,
  first,
  agent: argv,
} = JSON.parse(process.argv[2] ?? '');
const journal = openSync(journalFile, 'a');
const clients = bridges.map((address) => connectBridge(address));
let current = first;
let stop;
let early;

function note(entry) {
  writeSync(journal, `${JSON.stringify({ ms: Date.now(), ...entry })}\n`);
}

function switchOver() {
  current = (current + 1) % clients.length;
}

function feed() {
  return ingestWithResume((requests, options) => clients[current].ingest(requests, options), {
    open: { runId, labels: { by: 'feed' } },
    onCancel: (cancel) => {
      note({ kind: 'cancel', requestId: cancel.requestId });
      if (stop === undefined) early = cancel;
      else stop.end(cancel.requestId, gracesOf(cancel));
    },
    onReconnect: ({ code, message }) => {
      switchOver();
      note({ kind: 'cut', code, message, to: current });
    },
    onReopened: () => note({ kind: 'open', bridge: current }),
  });
}

/** The first call of all has no resume: it is made until a bridge takes the run in. */
async function openFeed() {
  const untilMs = Date.now() + openForMs;
  for (;;) {
    const ingest = feed();
    try {
      await ingest.opened;
      return ingest;
    } catch ({ code, message }) {
      note({ kind: 'refused', code, message });
      if (Date.now() > untilMs) throw new Error('no bridge took the run in');
    }
    switchOver();
    await delay(150);
  }
}

// What the keeper gives to the agents of a bridge.
process.env.HEP_RUN_ID = runId;
const ingest = await openFeed();
const agent = startLocalAgent(argv, ingest);
stop = createAgentStop(agent, ingest);
if (early !== undefined) stop.end(early.requestId, gracesOf(early));
// An agent whose events nobody takes any more has no reason to go on.
ingest.finished.catch(() => stop.end('', { interruptGraceMs: 500, terminateGraceMs: 500 }));
const exit = await agent.ended;
await agent.drained;
note({ kind: 'ended', ...exit });
ingest.exit(exit);
try {
  const { outcome, outcomeReason, lastSequence } = await ingest.finished;
  note({ kind: 'finished', outcome, reason: outcomeReason, lastSequence: Number(lastSequence) });
} catch ({ code, message }) {
  note({ kind: 'gave-up', code, message });
}
process.exit(0);
