import type { BridgeError } from '../errors.js';
import { printable } from './printable.js';

/** An error as it goes to stderr: one line for a person, or one JSON object. */
export function errorText(error: BridgeError, asJson: boolean): string {
  const { code, message, fields, metadata } = error;
  if (!asJson) return `hep-bridge: ${printable(message).replace(/\s+/g, ' ')} (${code})`;
  return JSON.stringify({
    error: {
      code,
      message,
      ...(fields.length === 0 ? {} : { fields }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    },
  });
}
