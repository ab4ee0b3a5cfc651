import { readFile } from 'node:fs/promises';
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { BridgeError } from '../errors.js';

/** How to reach NATS. */
export interface NatsAccess {
  /**
   * `nats://host:port` or `tls://host:port`; several, divided by commas, are one cluster. User and
   * password, or a token, may stand in the first one (`nats://user:password@host`).
   */
  readonly url: string;
  /** Path of a credentials file (JWT and seed). */
  readonly credsFile?: string;
  readonly token?: string;
  readonly user?: string;
  readonly password?: string;
  /** Paths of PEM files. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_MS = 250;

/**
 * Connects, and from then on reconnects without end. Throws `NATS_UNREACHABLE` if the first
 * connection does not come about. The caller closes it.
 */
export async function connectNats(access: NatsAccess, name: string): Promise<NatsConnection> {
  const servers = access.url.split(',').map((url) => url.trim());
  try {
    return await connect({
      // The client would take a password's digits for the port.
      servers: servers.map((url) => withUser(url, '')),
      name,
      timeout: CONNECT_TIMEOUT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      reconnectJitter: RECONNECT_MS,
      pingInterval: 10_000,
      maxPingOut: 2,
      // Another server on the port for a while, or a user put right later: neither is the end.
      ignoreAuthErrorAbort: true,
      ...(await credentials(access)),
    });
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BridgeError(
      'NATS_UNREACHABLE',
      `cannot connect to NATS at ${servers.map(withoutSecrets).join(', ')}: ${text}; ` +
        'check --nats-url and the credentials, or leave --nats-url out for a private server',
      { cause: thrown },
    );
  }
}

async function credentials(access: NatsAccess): Promise<Partial<NodeConnectionOptions>> {
  const { credsFile, token, user, password, tls } = access;
  const options: Partial<NodeConnectionOptions> = { ...credentialsIn(access.url) };
  if (credsFile !== undefined) {
    options.authenticator = credsAuthenticator(await readFile(credsFile));
  }
  if (token !== undefined) options.token = token;
  if (user !== undefined) options.user = user;
  if (password !== undefined) options.pass = password;
  if (tls !== undefined) {
    options.tls = {
      ...(tls.ca === undefined ? {} : { caFile: tls.ca }),
      ...(tls.cert === undefined ? {} : { certFile: tls.cert }),
      ...(tls.key === undefined ? {} : { keyFile: tls.key }),
    };
  }
  return options;
}

/** The client takes them from nowhere but its options. */
function credentialsIn(url: string): Partial<NodeConnectionOptions> {
  const [, user, password] = /^(?:\w+:\/\/)?([^@/:,]+)(?::([^@/,]*))?@/.exec(url) ?? [];
  if (user === undefined) return {};
  if (password === undefined) return { token: decodeURIComponent(user) };
  return { user: decodeURIComponent(user), pass: decodeURIComponent(password) };
}

/** A URL without the user, password or token that may stand in it. */
export function withoutSecrets(url: string): string {
  return withUser(url, '***@');
}

function withUser(url: string, user: string): string {
  const [, scheme = '', rest] = /^(\w+:\/\/)?.*@(.*)$/.exec(url) ?? [];
  return rest === undefined ? url : `${scheme}${user}${rest}`;
}
