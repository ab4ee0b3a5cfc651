const slots = 10;
const slotMs = 100;

interface Sweeper {
  readonly slot: number;
  readonly look: () => void;
}

const sweepers = new Set<Sweeper>();
let timer: NodeJS.Timeout | undefined;
let tick = 0;
let given = 0;

/**
 * Calls `look` about once a second until the returned function is called. All share one timer, which
 * takes a tenth of them each 100 ms, so that a thousand idle runs never hold the loop for long. The
 * timer alone does not keep the process alive.
 */
export function onSweep(look: () => void): () => void {
  given += 1;
  const sweeper = { slot: given % slots, look };
  sweepers.add(sweeper);
  timer ??= setInterval(sweep, slotMs).unref();
  return () => {
    sweepers.delete(sweeper);
    if (sweepers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function sweep(): void {
  tick = (tick + 1) % slots;
  for (const { slot, look } of sweepers) if (slot === tick) look();
}
