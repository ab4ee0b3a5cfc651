import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { errnoCode } from '../spool/errno.js';
import { spoolFiles } from '../spool/layout.js';
import type { SpawnFailure, SpawnRequest } from './protocol.js';

/** The three descriptors of a child, in order; `close` lets go of the keeper's copies. */
export interface ChildStdio {
  readonly fds: readonly ['ignore' | number, number, number];
  close(): void;
}

/** Opens what the child gets as stdin, stdout and stderr; the outputs for append. */
export function openStdio(request: SpawnRequest): ChildStdio | SpawnFailure {
  const opened: number[] = [];
  const close = (): void => {
    for (const fd of opened) closeSync(fd);
  };
  const open = (path: string, flags: string): number => {
    const fd = openSync(path, flags, 0o600);
    opened.push(fd);
    return fd;
  };
  try {
    const stdout = open(join(request.spoolDir, spoolFiles.stdout), 'a');
    const stderr = open(join(request.spoolDir, spoolFiles.stderr), 'a');
    if (request.stdin === 'null') return { fds: ['ignore', stdout, stderr], close };
    const stdin = openStdin(request.stdin.file, open);
    if (typeof stdin === 'number') return { fds: [stdin, stdout, stderr], close };
    close();
    return stdin;
  } catch (error) {
    close();
    const reason = errnoCode(error) ?? 'EIO';
    return { error: reason, message: `spool directory ${request.spoolDir}: ${String(error)}` };
  }
}

function openStdin(
  file: string,
  open: (path: string, flags: string) => number,
): number | SpawnFailure {
  try {
    return open(file, 'r');
  } catch (error) {
    const missing = errnoCode(error) === 'ENOENT';
    return {
      error: missing ? 'STDIN_MISSING' : 'STDIN_DENIED',
      message: `file for stdin ${file} ${missing ? 'does not exist' : 'cannot be read'}`,
    };
  }
}
