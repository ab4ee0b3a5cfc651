import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;
const GREETING_MS = 5_000;

/**
 * The port in `nats-server_<pid>.ports`, which the server writes once it listens. Undefined if
 * `isOver` says so first.
 */
export async function awaitPort(
  portsDir: string,
  isOver: () => boolean,
): Promise<number | undefined> {
  for (;;) {
    const port = readPort(portsDir);
    if (port !== undefined) return port;
    if (isOver()) return undefined;
    await delay(POLL_MS);
  }
}

function readPort(portsDir: string): number | undefined {
  for (const name of readdirSync(portsDir)) {
    if (!name.endsWith('.ports')) continue;
    try {
      const { nats } = JSON.parse(readFileSync(join(portsDir, name), 'utf8')) as {
        nats?: readonly string[];
      };
      const port = nats?.map((url) => Number(new URL(url).port)).find((number) => number > 0);
      if (port !== undefined) return port;
    } catch {
      // Not written to its end yet.
    }
  }
  return undefined;
}

/** Whether a NATS server greets on the port; one that hangs takes the connection and says nothing. */
export function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(GREETING_MS, () => end(false));
    socket.once('error', () => end(false));
    socket.once('end', () => end(false));
    socket.once('data', (chunk) => end(chunk.subarray(0, 4).toString('latin1') === 'INFO'));
  });
}
