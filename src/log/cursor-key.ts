import { randomBytes } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import { BridgeError } from '../errors.js';

const KEY = 'cursor-key';
const KEY_BYTES = 32;

/** The secret that cursors are signed with: one for all gateways of a log, made by the first. */
export async function sharedCursorKey(bucket: KV): Promise<Uint8Array> {
  const minted = randomBytes(KEY_BYTES);
  try {
    await bucket.create(KEY, minted);
    return minted;
  } catch (thrown) {
    const entry = await bucket.get(KEY);
    if (entry !== null && entry.value.length === KEY_BYTES) return entry.value;
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new BridgeError('LOG_UNAVAILABLE', `no key for cursors: ${text}`, { cause: thrown });
  }
}
