import { closeSync, readdirSync, readFileSync } from 'node:fs';

const closeOnExec = 0o2000000;

/**
 * Closes what this process inherited beyond its stdio and would hand on to every child: Node marks
 * its own descriptors close-on-exec, and of the inherited ones only the first few. Nothing happens
 * where there is no `/proc`.
 */
export function closeInheritedFds(): void {
  for (const fd of openFds()) if (fd > 2 && isHandedOn(fd)) closeSync(fd);
}

function openFds(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

function isHandedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'));
    return flags?.[1] !== undefined && (Number.parseInt(flags[1], 8) & closeOnExec) === 0;
  } catch {
    // The one that listed the directory is closed already.
    return false;
  }
}
