import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports below those that the system gives to connections: nobody else gets one while its server is dead. */
const FIRST = 17_000;
const LAST = 31_000;

/** A port of loopback on which nobody listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
      return port;
    } catch {
      // Taken: another one.
    } finally {
      server.close();
    }
  }
}
