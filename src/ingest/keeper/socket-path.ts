import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, the final NUL included. */
const maxSocketPathBytes = 100;

/** A place for a socket, and the directory that was made for it alone, if one was. */
export interface SocketPlace {
  readonly path: string;
  /** To be removed with the socket. */
  readonly madeDir: string | undefined;
}

/** In the data directory if the path is short enough, else in a new 0700 temporary directory. */
export function chooseSocketPath(dataDir: string): SocketPlace {
  const path = join(dataDir, 'keeper.sock');
  if (Buffer.byteLength(path) < maxSocketPathBytes) return { path, madeDir: undefined };
  const temporary = join(tmpdir(), 'hep-keeper-XXXXXX');
  const parent = Buffer.byteLength(temporary) < maxSocketPathBytes - 8 ? tmpdir() : '/tmp';
  const inTemporary = join(mkdtempSync(join(parent, 'hep-keeper-')), 's');
  return { path: inTemporary, madeDir: dirname(inTemporary) };
}
