import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { errnoCode } from '../spool/errno.js';
import type { SpawnFailure, SpawnRequest } from './protocol.js';

/** What is wrong with the working directory, or undefined; the system says ENOENT for the program. */
export function checkCwd(cwd: string): SpawnFailure | undefined {
  try {
    if (!statSync(cwd).isDirectory()) {
      return { error: 'CWD_MISSING', message: `working directory ${cwd} is not a directory` };
    }
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (error) {
    const missing = errnoCode(error) === 'ENOENT' || errnoCode(error) === 'ENOTDIR';
    return {
      error: missing ? 'CWD_MISSING' : 'CWD_DENIED',
      message: `working directory ${cwd} ${missing ? 'does not exist' : 'cannot be entered'}`,
    };
  }
}

/** Names why the system refused to start the program. */
export function explainSpawnError(
  request: Pick<SpawnRequest, 'argv' | 'cwd'>,
  thrown: unknown,
): SpawnFailure {
  const program = request.argv[0] ?? '';
  const error = errnoCode(thrown) ?? 'INVALID';
  return { error, message: explain(program, request.cwd, error, thrown) };
}

function explain(program: string, cwd: string, error: string, thrown: unknown): string {
  if (error === 'ENOENT') {
    if (!program.includes('/')) return `program ${program} is not in PATH`;
    return existsSync(resolve(cwd, program))
      ? `program ${program} names an interpreter that does not exist`
      : `program ${program} does not exist`;
  }
  if (error === 'EACCES') return `program ${program} may not be executed`;
  if (error === 'E2BIG') return `arguments and environment of ${program} are too long`;
  return `program ${program} was not started: ${thrown instanceof Error ? thrown.message : error}`;
}
