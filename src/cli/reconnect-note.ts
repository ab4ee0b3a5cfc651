import type { Output } from './output.js';

/** Says once, until `answered`, that a connection was cut and is tried again. */
export interface ReconnectNote {
  cut(error: Error): void;
  answered(): void;
}

export function createReconnectNote(stderr: Output): ReconnectNote {
  let isCut = false;
  return {
    cut(error) {
      if (!isCut) void stderr.line(`hep-bridge: ${error.message}; trying again`);
      isCut = true;
    },
    answered() {
      if (isCut) void stderr.line('hep-bridge: connected again');
      isCut = false;
    },
  };
}
