import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that holds all that its clients send from the moment that they send a certain text. */
export interface HoldingProxy extends AsyncDisposable {
  readonly url: string;
  /** Holds from the first bytes that have this in them; resolves when they came. */
  holdFrom(text: string): Promise<void>;
  /** Holds only the bytes that have this in them, and lets go what comes behind. */
  holdOne(text: string): Promise<void>;
  /** Lets all go that was held. */
  release(): void;
}

export async function startHoldingProxy(port: number): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  let wanted: { readonly text: string; readonly isOne: boolean; met: () => void } | undefined;
  let held: (() => void)[] = [];
  let isHolding = false;

  function hold(text: string, isOne: boolean): Promise<void> {
    return new Promise((resolve) => {
      wanted = { text, isOne, met: resolve };
    });
  }

  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      const isMet = wanted !== undefined && chunk.includes(wanted.text);
      if (isMet || isHolding) held.push(() => upstream.write(chunk));
      else upstream.write(chunk);
      if (!isMet || wanted === undefined) return;
      isHolding = !wanted.isOne;
      wanted.met();
      wanted = undefined;
    });
    upstream.on('data', (chunk) => client.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    holdFrom: (text) => hold(text, false),
    holdOne: (text) => hold(text, true),
    release() {
      for (const send of held) send();
      held = [];
      isHolding = false;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
