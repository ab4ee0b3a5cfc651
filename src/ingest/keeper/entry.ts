import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BridgeError } from '../../errors.js';

/**
 * Path of the keeper's built entry. This file is as deep in `src` as in `dist`, so the same path
 * serves the built bridge and the tests, which run TypeScript that plain Node cannot load.
 */
export function keeperEntry(): string {
  const path = fileURLToPath(new URL('../../../dist/ingest/keeper/main.js', import.meta.url));
  if (existsSync(path)) return path;
  throw new BridgeError('KEEPER_UNREACHABLE', `${path} is not built; run npm run build`);
}
