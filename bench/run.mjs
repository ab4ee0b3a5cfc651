// The benchmark's one command; `run.sh` builds what it needs and starts it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  e2e_vs_go_pipeline_tuned: 'pipeline64',
  e2e_vs_readline: 'readline',
};

const names = Object.keys(TABLE).filter((name) => only === undefined || name === only);
if (names.length === 0) {
  console.error(`BENCH=${only} is no row; there are: ${Object.keys(TABLE).join(', ')}`);
  process.exit(64);
}
const file = join(out, `frames-${frames}.jsonl`);
if (!existsSync(file)) {
  execFileSync(join(out, 'bin/gen'), ['-frames', String(frames)], {
    stdio: ['ignore', openSync(file, 'w'), 'inherit'],
  });
}
mkdirSync(out, { recursive: true });
const dir = mkdtempSync(join(out, 'work-'));
const measured = Object.fromEntries(names.map((name) => [name, []]));
try {
  // Rows in turn, so that a machine that changes its speed changes it for all.
  for (let run = 0; run < runs; run += 1) {
    for (const name of names) {
      const figures = await ROWS[name](file, frames, dir);
      measured[name].push(figures);
      const rate = Math.round(frames / figures.seconds).toLocaleString('en');
      process.stderr.write(`run ${run + 1} of ${runs}: ${name} ${rate} frames/s\n`);
    }
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const pick = (name, key) => measured[name].map((figures) => figures[key]);
const rateOf = (name) => frames / median(pick(name, 'seconds'));
const version = (command, ...args) => execFileSync(command, args).toString().trim();

console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; node ${process.version}, ${version('go', 'version').split(' ')[2]}; commit ${version('git', 'rev-parse', '--short', 'HEAD')}`,
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
writeFileSync(join(out, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
