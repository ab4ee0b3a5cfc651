// The benchmark's one command; `run.sh` builds what it needs and starts it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endAll, within } from './processes.mjs';
import { ROWS } from './rows.mjs';

const out = fileURLToPath(new URL('out/', import.meta.url));
const frames = Number(process.env.BENCH_FRAMES ?? 1_000_000);
const runs = Number(process.env.BENCH_RUNS ?? 3);
const only = process.env.BENCH;

/** Name → what it is, in the order of the table. */
const TABLE = {
  bridge: 'file → bridge → JetStream → gRPC → Go client',
  pipeline: 'hand-written Go pipeline, one event a message',
  pipeline64: 'the same, tuned: 64 events a message',
  goJson: 'Go encoding/json alone, type first',
  goJsonOneStruct: 'Go encoding/json alone, one struct',
  goJsonV2: 'Go encoding/json alone, GOEXPERIMENT=jsonv2',
  readline: 'Node readline + JSON.parse alone',
};
/** Key of results.json → the row that the bridge is held against. */
const RATIOS = {
  e2e_vs_go_json: 'goJson',
  e2e_vs_go_pipeline: 'pipeline',
  e2e_vs_readline: 'readline',
  e2e_vs_go_pipeline_tuned: 'pipeline64',
};

const wanted = only in RATIOS ? ['bridge', RATIOS[only]] : [only];
const names = Object.keys(TABLE).filter((name) => only === undefined || wanted.includes(name));
const known = [...Object.keys(TABLE), ...Object.keys(RATIOS)].join(', ');
if (names.length === 0) fail(`BENCH=${only} is no row; there are: ${known}`);
for (const [name, value, least] of [
  ['BENCH_FRAMES', frames, 1_000],
  ['BENCH_RUNS', runs, 1],
]) {
  if (!Number.isInteger(value) || value < least) fail(`${name} is a whole number from ${least} on`);
}
const file = join(out, `frames-${frames}.jsonl`);
execFileSync(join(out, 'bin/gen'), ['-frames', String(frames)], {
  stdio: ['ignore', openSync(file, 'w'), 'inherit'],
});
// The slowest row did 45,000 frames a second on two cores.
const limitMs = 60_000 + frames / 5;
const dir = mkdtempSync(join(out, 'work-'));
const measured = Object.fromEntries(names.map((name) => [name, []]));
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await endAll();
    rmSync(dir, { recursive: true, force: true });
    process.exit(130);
  });
}
let text;
try {
  // Rows in turn, so that a machine that changes its speed changes it for all.
  for (let run = 0; run < runs; run += 1) {
    for (const name of names) {
      const figures = await within(limitMs, name, ROWS[name](file, frames, dir));
      text ??= figures.text;
      if (figures.text !== text) throw new Error(`${name}: text of ${figures.text}, not ${text}`);
      measured[name].push(figures);
      const rate = Math.round(frames / figures.seconds).toLocaleString('en');
      process.stderr.write(`run ${run + 1} of ${runs}: ${name} ${rate} frames/s\n`);
    }
  }
} finally {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
const pick = (name, key) => measured[name].map((figures) => figures[key]);
const rateOf = (name) => frames / median(pick(name, 'seconds'));
const version = (command, ...args) => execFileSync(command, args).toString().trim();

console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; node ${process.version}, ${version('go', 'version').split(' ')[2]}; commit ${version('git', 'describe', '--always', '--dirty=+changes')}`,
);
console.log(
  `${frames.toLocaleString('en')} frames, median of ${runs}, durability process, log on disk\n`,
);
console.log('| row | frames/s | bridge is | CPU s | memory MiB |\n|---|---:|---:|---:|---:|');
for (const name of names) {
  const ratio = names.includes('bridge') ? `${(rateOf('bridge') / rateOf(name)).toFixed(2)} ×` : '';
  const cpu = median(pick(name, 'cpuSeconds')).toFixed(2);
  const memory = Math.round(median(pick(name, 'rssBytes')) / 2 ** 20);
  console.log(
    `| ${TABLE[name]} | ${Math.round(rateOf(name)).toLocaleString('en')} | ${ratio} | ${cpu} | ${memory} |`,
  );
}

const results = {};
for (const [key, other] of Object.entries(RATIOS)) {
  if (!names.includes('bridge') || !names.includes(other)) continue;
  // Pair by pair: both were measured in the same turn.
  const ratios = measured.bridge.map(({ seconds }, run) => measured[other][run].seconds / seconds);
  results[key] = {
    value: median(ratios),
    unit: 'ratio',
    runs: ratios.length,
    median: median(ratios),
    min: Math.min(...ratios),
    max: Math.max(...ratios),
  };
}
// One row alone has no ratio, and does not cost those of the last whole run.
if (Object.keys(results).length > 0) {
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
}

function fail(message) {
  console.error(message);
  process.exit(64);
}
