import type { BridgeParty } from './bridge-party.js';
import type { Random } from './random.js';
import type { Tally } from './tally.js';
import { LOST_AFTER_MS, type World } from './world.js';

/** What is done to a bridge, its keeper or the broker. */
export type PartyDeedKind =
  | 'kill bridge'
  | 'kill bridge, and as it starts'
  | 'kill keeper'
  | 'kill nats'
  | 'stop nats'
  | 'stop bridge shortly'
  | 'stop bridge for long'
  | 'end bridge in order';

/** How often each is done for some 200 runs. */
const DECK: Readonly<Record<PartyDeedKind, number>> = {
  'kill bridge': 10,
  'kill bridge, and as it starts': 4,
  'kill keeper': 8,
  'kill nats': 6,
  'stop nats': 4,
  'stop bridge shortly': 6,
  'stop bridge for long': 6,
  'end bridge in order': 4,
};
export const DECK_SIZE = Object.values(DECK).reduce((sum, count) => sum + count, 0);

/** All deeds of one deck, in random order. */
export function shuffledDeck(random: Random): PartyDeedKind[] {
  const kinds = Object.entries(DECK) as [PartyDeedKind, number][];
  const deck = kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => kind));
  for (let at = deck.length - 1; at > 0; at -= 1) {
    const other = random.between(0, at);
    const [a, b] = [deck[at], deck[other]];
    if (a === undefined || b === undefined) continue;
    deck[at] = b;
    deck[other] = a;
  }
  return deck;
}

/** Begins a deed, resolves when what it took away is back; undefined if everybody is busy. */
export function beginPartyDeed(
  world: World,
  kind: PartyDeedKind,
  random: Random,
  tally: Tally,
): Promise<void> | undefined {
  // Drawn whether or not it is used, so that the draws do not depend on who is busy.
  const restartMs = random.chance(0.5) ? 0 : random.between(500, 1_800);
  const first = random.between(0, world.bridges.length - 1);
  const dieAgainMs = random.between(150, 900);
  const act = actOf(world, kind, first, restartMs, dieAgainMs);
  if (act !== undefined) tally.add(kind);
  return act;
}

function actOf(
  { nats, bridges }: World,
  kind: PartyDeedKind,
  first: number,
  restartMs: number,
  dieAgainMs: number,
): Promise<void> | undefined {
  const ordered = [...bridges.slice(first), ...bridges.slice(0, first)];
  const bridge: BridgeParty | undefined = ordered.find(({ isBusy }) => !isBusy);
  switch (kind) {
    case 'kill bridge':
      return bridge?.kill(restartMs);
    case 'kill bridge, and as it starts':
      return bridge?.kill(restartMs, dieAgainMs);
    case 'kill keeper':
      return ordered.some((party) => party.killKeeper()) ? Promise.resolve() : undefined;
    case 'kill nats':
      return nats.isBusy ? undefined : nats.kill(Math.min(1_500, restartMs));
    case 'stop nats':
      return nats.isBusy ? undefined : nats.stall(1_000);
    case 'stop bridge shortly':
      return bridge?.stall(500);
    case 'stop bridge for long':
      return bridge?.stall(LOST_AFTER_MS + 1_500);
    case 'end bridge in order':
      return bridge?.stopInOrder(restartMs);
  }
}
