// The rows of the table. Each takes the same file in, and resolves with the seconds from the first byte
// to the last decoded frame, with the length of the text it read, and with what its processes took. A wrong count
// is an error.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { childrenOf, start, usageOf } from './processes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = (name) => join(here, 'out/bin', name);
const bridgeCommand = join(here, '../bin/hep-bridge');
const natsServer = join(here, '../bin/nats-server');

function expectCount(what, got, wanted) {
  if (got !== wanted) throw new Error(`${what}: ${got} frames, ${wanted} were written`);
}

/** The bridge: file → pipe → gateway → JetStream on disk → gRPC → Go client that decodes each event. */
async function bridge(file, frames, dir) {
  const dataDir = mkdtempSync(join(dir, 'bridge-'));
  const flags = ['--listen', '127.0.0.1:0', '--data-dir', dataDir, '--durability', 'process'];
  const serve = start(process.execPath, [
    bridgeCommand,
    'serve',
    ...flags,
    '-o',
    'json',
    '--log-level',
    'warn',
  ]);
  const { address } = JSON.parse((await serve.firstLine()).line);
  const runId = uuidv7();
  const client = start(bin('client'), ['-addr', address, '-run', runId]);
  const pipe = start(
    process.execPath,
    [bridgeCommand, 'pipe', '--run-id', runId, '--server', address],
    { stdin: file },
  );
  const { atMs: acceptedMs } = await pipe.firstLine();
  const result = JSON.parse(await client.result());
  await pipe.result();
  // From RunStarted on, or from the line that says that the bridge has the run if that came first: the
  // start of node is no part of the way.
  const seconds = (result.end_ms - Math.min(result.start_ms, acceptedMs)) / 1_000;
  // RunStarted and RunFinished come on top.
  expectCount('bridge', result.events - 2, frames);
  expectCount('bridge, last sequence', result.last - 2, frames);
  const ofBridge = [serve.pid, ...childrenOf(serve.pid)].map(usageOf);
  const usages = [ownUsage(result), pipe.usage(), ...ofBridge];
  await serve.end();
  rmSync(dataDir, { recursive: true, force: true });
  return total(seconds, result.text, usages);
}

/** The hand-written Go pipeline on a nats-server of its own; `batch` events a message. */
async function goPipeline(file, frames, dir, batch) {
  const store = mkdtempSync(join(dir, 'pipeline-'));
  const nats = start(natsServer, [
    '-js',
    '-sd',
    store,
    '-a',
    '127.0.0.1',
    '-p',
    '-1',
    '--ports_file_dir',
    store,
  ]);
  const url = await natsUrl(store);
  // It begins to read when its first client is there.
  const flags = ['gateway', '-nats', url, '-batch', String(batch)];
  const gateway = start(bin('pipeline'), flags, { stdin: file });
  const { line: address } = await gateway.firstLine();
  const client = start(bin('pipeline'), ['client', '-addr', address, '-events', String(frames)]);
  const startMs = Date.now();
  const result = JSON.parse(await client.result());
  const seconds = (result.end_ms - startMs) / 1_000;
  expectCount('pipeline', result.events, frames);
  expectCount('pipeline, last sequence', result.last, frames);
  const usages = [ownUsage(result), gateway.usage(), nats.usage()];
  await gateway.end('SIGKILL');
  await nats.end();
  rmSync(store, { recursive: true, force: true });
  return total(seconds, result.text, usages);
}

const pipeline = (file, frames, dir) => goPipeline(file, frames, dir, 1);
const pipeline64 = (file, frames, dir) => goPipeline(file, frames, dir, 64);

/** One process that reads the file alone, and times itself. */
async function alone(name, command, args, frames) {
  const result = JSON.parse(await start(command, args).result());
  expectCount(name, result.events, frames);
  return total(result.seconds, result.text, [ownUsage(result)]);
}

const goJson = (file, frames) => alone('go json', bin('gojson'), [file], frames);
const goJsonOneStruct = (file, frames) =>
  alone('go json, one struct', bin('gojson'), ['-one-struct', file], frames);
const goJsonV2 = (file, frames) => alone('go jsonv2', bin('gojson2'), [file], frames);
const readline = (file, frames) =>
  alone('readline', process.execPath, [join(here, 'readline.mjs'), file], frames);

async function natsUrl(dir) {
  for (;;) {
    const name = readdirSync(dir).find((entry) => entry.endsWith('.ports'));
    const text = name === undefined ? '' : readFileSync(join(dir, name), 'utf8');
    if (text.endsWith('}')) return JSON.parse(text).nats[0];
    await delay(10);
  }
}

/** What a program of the benchmark says of itself as its last act. */
function ownUsage({ cpu_seconds: cpuSeconds, rss_bytes: rssBytes }) {
  return { cpuSeconds, rssBytes };
}

function total(seconds, text, usages) {
  const known = usages.filter((usage) => usage !== undefined);
  return {
    seconds,
    text,
    cpuSeconds: known.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    rssBytes: known.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
  };
}

/** The rows by name, in the order of the table. */
export const ROWS = { bridge, pipeline, pipeline64, goJson, goJsonOneStruct, goJsonV2, readline };
