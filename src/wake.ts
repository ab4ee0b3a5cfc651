/** Wakes one waiter; a wake-up while nobody waits is kept, several are one. */
export interface Wake {
  wake(): void;
  /** Resolves at the next wake-up. */
  next(): Promise<void>;
}

export function createWake(): Wake {
  let isAwake = false;
  let resolveNext: (() => void) | undefined;
  return {
    wake() {
      if (resolveNext === undefined) {
        isAwake = true;
      } else {
        resolveNext();
        resolveNext = undefined;
      }
    },
    next() {
      if (isAwake) {
        isAwake = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        resolveNext = resolve;
      });
    },
  };
}
