import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { errnoCode } from './errno.js';

/** How much a whole-file write must survive: `process` any kill, `power` a power cut as well. */
export type Survives = 'process' | 'power';

/** Writes a file that readers see whole or not at all (temporary name, then rename), mode 0600. */
export function writeWholeFile(
  path: string,
  content: string | Uint8Array,
  survives: Survives,
): void {
  const temporary = `${path}.new`;
  const fd = openSync(temporary, 'w', 0o600);
  try {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    if (survives === 'power') fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}

/** The JSON value in a file; undefined if the file is missing or holds no JSON. */
export function readJsonFile(path: string): unknown {
  // Asked for again and again before it is there: a stat is ten times cheaper than an error.
  if (!existsSync(path)) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch {
    // A power cut can leave a file empty that was renamed without a sync.
    return undefined;
  }
}
