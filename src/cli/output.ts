import { once } from 'node:events';

/** Where a command writes. */
export interface Output {
  readonly isTty: boolean;
  /** Width of the terminal; 0 where there is none. */
  readonly columns: number;
  /** The reader has gone; from then on writes do nothing. */
  readonly isGone: boolean;
  /** Resolves when more may come; false if the reader has gone (`| head`), which is no error. */
  write(data: string | Uint8Array): Promise<boolean>;
  /** `write` with a line end. */
  line(text: string): Promise<boolean>;
}

/** Wraps stdout or stderr for the life of the process. */
export function createOutput(stream: NodeJS.WriteStream): Output {
  let isGone = false;
  let release = (): void => undefined;
  const gone = new Promise<void>((resolve) => {
    release = resolve;
  });
  // Whatever the cause (EPIPE, a full disk), nothing can be said there any more.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    isGone = true;
    if (error.code !== 'EPIPE') process.exitCode = 74;
    release();
  });
  const output: Output = {
    isTty: stream.isTTY === true,
    get columns() {
      // Not there where there is no terminal, whatever its type says.
      return stream.columns || 0;
    },
    get isGone() {
      return isGone;
    },
    async write(data) {
      if (isGone) return false;
      if (!stream.write(data)) {
        const drained = new AbortController();
        await Promise.race([
          once(stream, 'drain', { signal: drained.signal }).catch(() => undefined),
          gone,
        ]);
        drained.abort();
      }
      return !isGone;
    },
    line: (text) => output.write(`${text}\n`),
  };
  return output;
}
