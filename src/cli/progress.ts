import type { Output } from './output.js';

const periodMs = 200;

/** A line on a terminal's stderr that says how far long work is; nothing anywhere else. */
export interface Progress extends Disposable {
  /** Removes the line. */
  stop(): void;
}

/** Shows `text()` five times a second, from the first period on. */
export function showProgress(stderr: Output, text: () => string): Progress {
  let isShown = false;
  const show = (): void => {
    isShown = true;
    void stderr.write(`\r\u001b[K${text()}`);
  };
  const timer = stderr.isTty ? setInterval(show, periodMs) : undefined;
  timer?.unref();
  const stop = (): void => {
    clearInterval(timer);
    if (isShown) void stderr.write('\r\u001b[K');
    isShown = false;
  };
  return { stop, [Symbol.dispose]: stop };
}

/** `1.2 MiB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
