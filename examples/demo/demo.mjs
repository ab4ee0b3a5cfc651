// `make demo`: the main job end to end on one machine, with every claim checked. Reads top to bottom.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { done, explain, failUnless, note, step } from './narrate.mjs';
import { startStage } from './stage.mjs';

const PICTURE = `
  agent ──lines──▶ hep-bridge ──events──▶ NATS JetStream ──▶ Go workers
    ▲                  │  ▲                     │
    └─────SIGINT───────┘  └──cancel    gRPC ◀───┘──▶ Go backend, watch, export
`;

const stage = await startStage();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await stage.stop();
    process.exit(130);
  });
}
let failed = true;
console.log(
  'An agent prints JSON lines; Go programs want typed events. This demo runs all of it here,',
);
console.log('on free ports of 127.0.0.1 and in a folder that it removes at the end:');
console.log(PICTURE);
try {
  step('Start the bridge');
  explain(
    '`hep-bridge serve` is the gateway. It was not told of a NATS server, so it runs a private one',
    'in its data directory. It may start only what its configuration names: the profile "agent", and',
    '"endless", the same agent with --forever.',
  );
  const bridge = await stage.serve();
  note(`gRPC on ${bridge.address}; the log is the JetStream stream HEP on ${bridge.natsUrl}`);

  step('Two Go workers share the finished steps of all runs');
  explain(
    'Workers read the log itself, over NATS. Both use the durable "demo": each step goes to one of',
    'them, the steps of one run in order.',
  );
  const workers = [stage.worker('worker-1', bridge), stage.worker('worker-2', bridge)];
  await Promise.all(workers.map((worker) => worker.ready));

  step('A Go backend starts a run and prints its typed frames live');
  explain('examples/go-driver: StartRun, then events as they are committed, then the outcome.');
  const driver = await stage.driver(bridge, 'Is the build green?');
  failUnless(driver.code === 0, `the driver ended with ${driver.code}`);
  failUnless(driver.output.includes('All green.'), 'the driver printed the answer');

  step('More runs at once, and one that is cancelled');
  explain(
    'Four runs from the same profile, and one that would go on for ever. `hep-bridge cancel` calls',
    'CancelRun: the agent gets one SIGINT, ends its round as cancelled, and exits with 130.',
  );
  const endless = stage.driver(bridge, 'Never stop.', 'endless');
  const runs = Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      stage.driver(bridge, `Question ${i + 1}`, 'agent', 'quiet'),
    ),
  );
  const endlessId = await stage.endlessId();
  const cancelled = await stage.cli(
    bridge,
    'cancel',
    endlessId,
    '--reason',
    'seen enough',
    '--wait',
  );
  note(cancelled.trim());
  await endless;
  await runs;

  step('A stream that another process made, through Ingest');
  explain(
    '`hep-bridge pipe` takes a file, or the output of an agent that a backend spawned itself.',
  );
  const piped = await stage.pipe(bridge);
  note(`run ${piped.runId}`);

  step('The table of runs');
  const table = await stage.cli(bridge, 'runs');
  console.log(table.trimEnd());

  step('Every stream back out, byte for byte');
  explain(
    '`hep-bridge export` rebuilds what the agent wrote from the typed events. The agent kept a journal',
    'of its own; both must be equal, odd text, floats and all.',
  );
  const all = await stage.runs(bridge);
  failUnless(all.length === 7, `seven runs are listed (${all.length})`);
  const exports = await Promise.all(all.map(({ run_id: runId }) => stage.export(bridge, runId)));
  for (const [at, { run_id: runId, outcome }] of all.entries()) {
    const exported = exports[at];
    const original = readFileSync(
      runId === piped.runId ? piped.file : join(stage.journals, `${runId}.jsonl`),
    );
    failUnless(
      exported.equals(original),
      `${runId} ${outcome}: ${original.length} bytes are equal`,
    );
  }
  const outcomes = all.map(({ outcome }) => outcome);
  failUnless(
    outcomes.filter((outcome) => outcome === 'CANCELLED').length === 1,
    'one run is CANCELLED',
  );
  failUnless(
    outcomes.filter((outcome) => outcome === 'COMPLETED').length === 6,
    'six are COMPLETED',
  );

  step('What the workers did');
  const shares = await stage.workerShares(
    workers,
    all.map((run) => run.run_id),
  );
  for (const [name, share] of shares) note(`${name} handled ${share.length} steps`);
  const steps = shares.flatMap(([, share]) => share);
  failUnless(
    shares.every(([, share]) => share.length > 0),
    'both workers had a share',
  );
  failUnless(new Set(steps).size === steps.length, `no step of ${steps.length} came to both`);
  failed = false;
} catch (error) {
  note(error.message);
}
step('Stop everything');
explain(
  'The workers and the bridge get SIGTERM; with the bridge end its nats-server and the keeper, the small',
  'process that is the parent of the agents.',
);
const left = await stage.stop();
for (const what of left) note(`still there: ${what}`);
note(left.length === 0 ? 'ok  nothing of the demo is left running' : 'NOT all of it ended');
done(failed || left.length > 0);
