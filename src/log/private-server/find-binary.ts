import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BridgeError } from '../../errors.js';

const NAME = 'nats-server';
const PACKAGE_BINARY = fileURLToPath(new URL('../../../bin/nats-server', import.meta.url));

/**
 * The nats-server to run: the one asked for, or else the package's own, or else the first on PATH.
 * Throws `NATS_SERVER_MISSING`.
 */
export function findServerBinary(asked: string | undefined): string {
  const candidates =
    asked === undefined
      ? [PACKAGE_BINARY, ...(process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, NAME))]
      : [isAbsolute(asked) ? asked : resolve(asked)];
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  const looked = asked === undefined ? `${PACKAGE_BINARY} and on PATH` : asked;
  throw new BridgeError(
    'NATS_SERVER_MISSING',
    `no nats-server at ${looked}; build it with "make build", name one with --nats-server, ` +
      'or use a running one with --nats-url',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
