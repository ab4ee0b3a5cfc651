import type { Random } from './random.js';

/** How a stand-in agent behaves; see agent.mjs. */
export type Variant = 'plain' | 'polite' | 'stubborn' | 'grandchild' | 'escapee' | 'closer' | 'cut';

/** What is done to one run, or to a process of it. */
export type RunDeedKind =
  | 'kill agent'
  | 'kill grandchild'
  | 'kill client'
  | 'stop agent'
  | 'cancel'
  | 'cancel twice'
  | 'cancel with force';

export interface RunDeed {
  readonly kind: RunDeedKind;
  /** After the start. */
  readonly atMs: number;
  /** Which bridge is asked. */
  readonly bridge: number;
}

/** One run, as it is meant. */
export interface RunPlan {
  readonly index: number;
  /** Who starts the agent: a bridge, by StartRun, or an Ingest client. */
  readonly path: 'start' | 'ingest';
  /** Which bridge is asked first. */
  readonly bridge: number;
  readonly variant: Variant;
  /** One delta behind each. */
  readonly pauses: readonly number[];
  /** The delta before which another process is forked. */
  readonly forkAt: number;
  readonly terminal: 'done' | 'error' | 'none';
  readonly exitCode: number;
  readonly lingerMs: number;
  readonly deeds: readonly RunDeed[];
}

const VARIANTS: readonly Variant[] = [
  ...(['plain', 'plain', 'plain', 'polite', 'polite', 'stubborn'] as const),
  ...(['grandchild', 'grandchild', 'escapee', 'closer', 'cut'] as const),
];
const EXIT_CODES = [0, 0, 0, 0, 1, 3, 64];
const TERMINALS = ['done', 'done', 'done', 'done', 'error', 'none'] as const;
const DEEDS: readonly (RunDeedKind | undefined)[] = [
  ...([undefined, undefined, undefined, undefined, 'kill agent', 'kill agent'] as const),
  ...(['stop agent', 'cancel', 'cancel twice', 'cancel with force'] as const),
];

export function planRun(random: Random, index: number, bridges: number): RunPlan {
  const path = index % 2 === 0 ? 'start' : 'ingest';
  const variant = random.pick(VARIANTS);
  const pauses = Array.from({ length: random.between(15, 45) }, () => random.between(1, 90));
  const lastsMs = pauses.reduce((sum, pause) => sum + pause, 0);

  function deed(kind: RunDeedKind): RunDeed {
    const atMs = random.between(0, lastsMs + 400);
    return { kind, atMs, bridge: random.between(0, bridges - 1) };
  }

  const first = random.pick(DEEDS);
  const deeds = first === undefined ? [] : [deed(first)];
  // Two things at once now and then.
  const second = random.chance(0.15) ? random.pick(DEEDS) : undefined;
  if (second !== undefined) deeds.push(deed(second));
  if (path === 'ingest' && random.chance(0.12)) deeds.push(deed('kill client'));
  if (variant === 'grandchild' && random.chance(0.3)) deeds.push(deed('kill grandchild'));
  return {
    index,
    path,
    variant,
    pauses,
    deeds,
    bridge: random.between(0, bridges - 1),
    forkAt: random.between(0, pauses.length - 1),
    terminal: random.pick(TERMINALS),
    exitCode: variant === 'cut' ? 0 : random.pick(EXIT_CODES),
    lingerMs: random.between(100, 700),
  };
}
