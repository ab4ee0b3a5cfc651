import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CancelCause } from '#gen/hep/event/v1/event_pb.js';
import { eventsOf, kindsOf, openTestGateway, rebuildSource, verdictOf } from './support/gateway.js';
import { startNats, type TestNats } from './support/nats.js';

const HEADER = '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}';
const MIB = 1_048_576;

/** A file system of its own needs the right to mount one: root has it. */
const canMount = process.getuid?.() === 0 && process.platform === 'linux';

describe.skipIf(!canMount)('a data directory on a disk that fills up', () => {
  let dir = '';
  let nats: TestNats;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'hep-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', dir]);
    nats = await startNats();
  });
  afterEach(async () => {
    await nats.stop();
    execFileSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true, force: true });
  });

  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  };

  it('takes no start below the reserve, ends the run that fills it below half, and goes on when there is room', async () => {
    const options = { dataDir: join(dir, 'data'), nats: { url: nats.url }, reserveBytes: 24 * MIB };
    await using bridge = await openTestGateway(options);
    const { client } = bridge;
    const small = uuidv7();
    await client.startRun({ runId: small, profile: 'sh', prompt: `echo '${HEADER}'; sleep 60` });
    const delta = `{"type":"message_delta","turn_id":1,"delta":"${'x'.repeat(60_000)}"}`;
    const flood = `d='${delta}'; while :; do echo "$d"; sleep 0.002; done`;
    const big = uuidv7();
    await client.startRun({ runId: big, profile: 'sh', prompt: `echo '${HEADER}'; ${flood}` });
    await expect.poll(freeBytes, { timeout: 30_000, interval: 20 }).toBeLessThan(23 * MIB);
    const refused = client.startRun({ runId: uuidv7(), profile: 'sh', prompt: 'true' });
    await expect(refused).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
    const events = await eventsOf(client, big);
    const run = await client.getRun(big);
    expect(run.cancelCause).toBe(CancelCause.SPACE);
    expect(verdictOf(run)).toBe('CANCELLED / CANCEL_SIGNALLED');
    expect(kindsOf(events).filter((kind) => kind === 'malformedLine').length).toBeLessThanOrEqual(
      1,
    );
    // Its spool goes with it.
    await expect.poll(freeBytes, { timeout: 10_000 }).toBeGreaterThan(40 * MIB);
    const next = uuidv7();
    await client.startRun({ runId: next, profile: 'sh', prompt: `echo '${HEADER}'` });
    await eventsOf(client, next);
    await client.cancelRun({ runId: small, requestId: uuidv4(), force: true });
    await eventsOf(client, small);
    expect((await client.getRun(small)).cancelCause).toBe(CancelCause.CALLER);
  }, 60_000);

  it('that is full to the last byte loses nothing that the agent could write, and a cancel still ends it', async () => {
    const dataDir = join(dir, 'data');
    await using bridge = await openTestGateway({ dataDir, nats: { url: nats.url } });
    const { client } = bridge;
    const runId = uuidv7();
    const delta = '{"type":"message_delta","turn_id":1,"delta":"hi"}';
    const prompt = `trap 'exit 130' INT; echo '${HEADER}'; while :; do echo '${delta}' 2>/dev/null; sleep 0.01; done`;
    await client.startRun({ runId, profile: 'sh', prompt });
    const target = { case: 'runId' as const, value: runId };
    for await (const { sequence } of client.subscribe({ target })) if (sequence > 20) break;
    fill(dir);
    expect(freeBytes()).toBe(0);
    await client.cancelRun({ runId, requestId: uuidv4() });
    const events = await eventsOf(client, runId);
    const source = rebuildSource(events).toString().split('\n');
    expect(source[0]).toBe(HEADER);
    const cut = source.slice(1, -1).filter((line) => line !== delta);
    // A write that fitted in part is a line that is no frame, and is told as one.
    expect(cut.length).toBeLessThanOrEqual(1);
    expect(events.at(-1)?.event.payload.value).toMatchObject({ exitCode: 130 });
    expect(verdictOf(await client.getRun(runId))).toBe('CANCELLED / CANCEL_SIGNALLED');
  }, 60_000);
});

/** Takes all the room that there is. */
function fill(dir: string): void {
  for (const bytes of [MIB, 65_536, 4_096]) {
    for (let n = 0; ; n += 1) {
      try {
        writeFileSync(join(dir, `filler-${bytes}-${n}`), Buffer.alloc(bytes));
      } catch {
        break;
      }
    }
  }
}
