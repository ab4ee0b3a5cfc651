/** What must be closed, in the reverse of the order in which it was opened. */
export interface Closers extends AsyncDisposable {
  defer(close: () => void | Promise<void>): void;
  /** Takes everything over, so that disposing of this one does nothing any more. */
  move(): Closers;
  /** Closes all, also behind one that fails; safe twice. Throws the first failure. */
  close(): Promise<void>;
}

/** `AsyncDisposableStack` for Node 20. */
export function createClosers(): Closers {
  let waiting: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = waiting.pop(); close !== undefined; close = waiting.pop()) {
      try {
        await close();
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  const closers: Closers = {
    defer: (close) => waiting.push(close),
    move() {
      const moved = createClosers();
      for (const close of waiting) moved.defer(close);
      waiting = [];
      return moved;
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
    [Symbol.asyncDispose]: () => closers.close(),
  };
  return closers;
}
