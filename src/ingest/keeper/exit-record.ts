import { statSync, writeFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoCode } from '../spool/errno.js';
import { encodeExit, type KnownExit } from '../spool/exit-file.js';
import { type SpoolStream, spoolFiles } from '../spool/layout.js';

const recordBytes = 512;
const retryMs = 1_000;

/** Takes the room that the exit record will need while there still is some. */
export function reserveExitRecord(spoolDir: string): void {
  writeFileSync(reservedPath(spoolDir), ' '.repeat(recordBytes), { mode: 0o600 });
}

/** Size of a stream's file now; 0 if the spool is gone. */
export function streamBytes(spoolDir: string, stream: SpoolStream): number {
  return statSync(join(spoolDir, spoolFiles[stream]), { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Puts the exit on file, synced, for readers to see whole. Tries until it succeeds, since nobody
 * else can know; gives up only if the spool directory is gone, and then nobody asks.
 */
export async function writeExitRecord(spoolDir: string, exit: KnownExit): Promise<void> {
  for (;;) {
    try {
      await tryWrite(spoolDir, encodeExit(exit, recordBytes));
      return;
    } catch (error) {
      if (errnoCode(error) === 'ENOENT') return;
      console.error(`exit record in ${spoolDir} (will try again):`, error);
    }
    await delay(retryMs);
  }
}

async function tryWrite(spoolDir: string, text: string): Promise<void> {
  const file = await openReserved(spoolDir);
  try {
    await file.write(text, 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(reservedPath(spoolDir), join(spoolDir, spoolFiles.exit));
}

async function openReserved(spoolDir: string): ReturnType<typeof open> {
  try {
    // Without truncation, so that the reserved block is written over and not given back.
    return await open(reservedPath(spoolDir), 'r+');
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw error;
    return await open(reservedPath(spoolDir), 'w', 0o600);
  }
}

function reservedPath(spoolDir: string): string {
  return join(spoolDir, `${spoolFiles.exit}.new`);
}
