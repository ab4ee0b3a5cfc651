import { readFile, stat } from 'node:fs/promises';
import { BridgeError } from '../../errors.js';

/** Bytes of one secret. */
const MAX_SECRET_BYTES = 65_536;

/**
 * The variables whose values stand in files, each without one newline at its end. Throws
 * `PROFILE_UNUSABLE` that names the variable and the file, never what is in it.
 */
export async function readSecrets(
  envFiles: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const env: Record<string, string> = {};
  for (const [name, path] of Object.entries(envFiles)) env[name] = await readSecret(name, path);
  return env;
}

async function readSecret(name: string, path: string): Promise<string> {
  let text: string;
  try {
    if ((await stat(path)).size > MAX_SECRET_BYTES) {
      throw new Error(`it has more than ${MAX_SECRET_BYTES} bytes`);
    }
    text = await readFile(path, 'utf8');
    if (text.includes('\0')) throw new Error('it has a NUL byte');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BridgeError(
      'PROFILE_UNUSABLE',
      `the value of ${name} cannot be read from ${path}: ${why}; mend the file, or env_files of the profile`,
      { cause },
    );
  }
  return text.replace(/\r?\n$/, '');
}
