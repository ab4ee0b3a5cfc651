import { errors, type NatsConnection } from '@nats-io/transport-node';

export interface ConnectionListener {
  readonly disconnected?: () => void;
  readonly reconnected?: () => void;
  /** The server refused a publish to this subject. */
  readonly publishRefused?: (subject: string) => void;
}

/** What happens to a connection, for all who wait for something on it. */
export interface ConnectionWatch {
  readonly isConnected: boolean;
  /** Returns what ends the listening. */
  listen(listener: ConnectionListener): () => void;
}

const watches = new WeakMap<NatsConnection, ConnectionWatch>();

/** One per connection, whoever asks; it ends with the connection. */
export function connectionWatch(connection: NatsConnection): ConnectionWatch {
  const known = watches.get(connection);
  if (known !== undefined) return known;
  const listeners = new Set<ConnectionListener>();
  let isConnected = true;

  async function watch(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect' || status.type === 'close') {
        isConnected = false;
        for (const listener of [...listeners]) listener.disconnected?.();
      } else if (status.type === 'reconnect') {
        isConnected = true;
        for (const listener of [...listeners]) listener.reconnected?.();
      } else if (
        status.type === 'error' &&
        status.error instanceof errors.PermissionViolationError &&
        status.error.operation === 'publish'
      ) {
        for (const listener of [...listeners]) listener.publishRefused?.(status.error.subject);
      }
    }
  }
  // Ends with the connection, and does not fail.
  void watch();

  const created: ConnectionWatch = {
    get isConnected() {
      return isConnected && !connection.isClosed();
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  watches.set(connection, created);
  return created;
}
