import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** A request holds an environment at most; nothing sane is longer. */
const maxRequestBytes = 16 * 1024 * 1024;

/**
 * Calls `onLine` with each whole line that arrives, in the very turn in which it arrives, and drops
 * the connection when one gets too long.
 */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  socket.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxRequestBytes) socket.destroy();
    for (const line of lines) onLine(line);
  });
}

/** Writes one value as a line; nothing happens if the other side is gone. */
export function writeLine(socket: Socket, value: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(value)}\n`);
}
