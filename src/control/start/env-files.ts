import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { BridgeError } from '../../errors.js';
import { errnoCode } from '../../ingest/spool/errno.js';

/** Largest file that becomes a variable; Linux takes at most twice as much in one. */
const MAX_FILE_BYTES = 65_536;

const whyOfErrno: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'may not be read by the bridge',
};

/**
 * Variables from files, by name: the text of each, without one newline at its end. Throws
 * `PROFILE_UNUSABLE` that names the profile, the variable and the file, never what is in it.
 */
export async function readEnvFiles(
  profileName: string,
  envFiles: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const env: Record<string, string> = {};
  for (const [name, path] of Object.entries(envFiles)) {
    const read = await readText(path);
    if ('unfit' in read) {
      throw new BridgeError(
        'PROFILE_UNUSABLE',
        `profile ${JSON.stringify(profileName)} cannot be used: the file ${path} for ${name} ` +
          `${read.unfit}; put the file right, or env_files in the configuration`,
      );
    }
    env[name] = read.text.replace(/\n$/, '');
  }
  return env;
}

type ReadText = { readonly text: string } | { readonly unfit: string };

async function readText(path: string): Promise<ReadText> {
  try {
    // A pipe that nobody writes must not hold up a start.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) return { unfit: 'is not a regular file' };
    const bytes = await readAtMost(file, MAX_FILE_BYTES + 1);
    if (bytes.length > MAX_FILE_BYTES) return { unfit: `has more than ${MAX_FILE_BYTES} bytes` };
    if (bytes.includes(0)) return { unfit: 'holds a NUL byte' };
    return isUtf8(bytes) ? { text: bytes.toString() } : { unfit: 'is not UTF-8' };
  } catch (thrown) {
    const code = errnoCode(thrown);
    if (code === undefined) throw thrown;
    return { unfit: whyOfErrno[code] ?? `cannot be read (${code})` };
  }
}

async function readAtMost(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(maxBytes);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, maxBytes - length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
  }
}
