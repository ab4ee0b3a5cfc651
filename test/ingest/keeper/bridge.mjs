// A bridge that starts one child and waits to be killed: argv is data directory, run id, program.
import { startChild } from '../../../dist/ingest/child/child-source.js';
import { ensureKeeper } from '../../../dist/ingest/keeper/ensure-keeper.js';
import { createSpool } from '../../../dist/ingest/spool/run-spool.js';

const [dataDir, runId, ...argv] = process.argv.slice(2);
const keeper = await ensureKeeper({ dataDir, idleMs: 200 });
const dir = createSpool({ dataDir, runId, request: {} });
const env = { PATH: process.env.PATH };
const child = await startChild({ keeper, dir, runId, argv, cwd: '/', env, stdin: 'null' });
process.stdout.write(`${JSON.stringify({ dir, pid: child.pid, keeper: keeper.pid })}\n`);
