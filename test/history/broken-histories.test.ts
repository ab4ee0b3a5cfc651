import { describe, expect, it } from 'vitest';
import { checkHistory, checks } from './check-history.js';
import type { End, Entry, History, Terms } from './history.js';
import { type Guarantee, violationText } from './violation.js';

const TERMS: Terms = {
  cancelWithinMs: 1_000,
  lostAfterMs: 2_000,
  bystanders: new Map([['b', 'COMPLETED']]),
};
const END: End = {
  outcome: 'COMPLETED',
  reason: 'TURN_DONE',
  detail: 'exit 0',
  synthetic: false,
  observed: true,
  stdoutBytes: 10,
};

type Plain = Entry extends infer E ? (E extends unknown ? Omit<E, 'timeMs'> : never) : never;

/** A sound history: a run that is cancelled, read by three readers in several calls, and a bystander. */
function sound(): Entry[] {
  const lines = ['line-0', 'x1'];
  const events = (run: string, cancel: boolean): readonly (readonly [string, string?])[] => [
    ['runStarted'],
    ['hepHeader', `${lines[0]}`],
    ...(cancel ? ([['cancelRequested'], ['cancelSignalled']] as const) : []),
    ['turnDone', run === 'b' ? 'x1' : 'x1'],
    ['runFinished'],
  ];
  const stored = (run: string, cancel: boolean): Plain[] =>
    events(run, cancel).map(([what, line], at) => ({
      kind: 'stored' as const,
      run,
      sequence: at + 1,
      digest: `${run}${at + 1}`,
      what,
      ...(line === undefined ? {} : { line }),
      ...(what === 'runFinished' ? { end: END } : {}),
    }));
  const saw = (reader: string, run: string, from: number, to: number, cancel: boolean): Plain[] =>
    events(run, cancel)
      .map(([what], at) => ({ what, sequence: at + 1 }))
      .filter(({ sequence }) => sequence >= from && sequence <= to)
      .map((event) => ({
        kind: 'saw' as const,
        reader,
        run,
        ...event,
        digest: `${run}${event.sequence}`,
      }));
  const begin = (
    reader: string,
    run: string,
    by: 'beginning' | 'sequence' | 'cursor',
    after: number,
  ): Plain => ({ kind: 'subscribed', reader, run, by, after });
  const left = (reader: string, status: string): Plain => ({ kind: 'left', reader, status });
  const plain: Plain[] = [
    ...lines.map((line): Plain => ({ kind: 'wrote', run: 'a', line })),
    ...lines.map((line): Plain => ({ kind: 'wrote', run: 'b', line })),
    { kind: 'acked', run: 'a', sequence: 2, bytes: 7 },
    { kind: 'asked', run: 'a', requestId: 'q' },
    { kind: 'got', run: 'a', signal: 'SIGINT' },
    { kind: 'answered', run: 'a', requestId: 'q', sequence: 3 },
    { kind: 'answered', run: 'a', requestId: 'q', sequence: 3 },
    { kind: 'exited', run: 'a' },
    { kind: 'exited', run: 'b' },
    begin('r1', 'a', 'beginning', 0),
    ...saw('r1', 'a', 1, 3, true),
    left('r1', 'CUT'),
    begin('r1', 'a', 'sequence', 3),
    ...saw('r1', 'a', 4, 6, true),
    left('r1', 'OK'),
    begin('r2', '*', 'beginning', 0),
    ...saw('r2', 'a', 1, 2, true),
    ...saw('r2', 'b', 1, 1, false),
    left('r2', 'CUT'),
    begin('r2', '*', 'cursor', 0),
    ...saw('r2', 'a', 3, 6, true),
    ...saw('r2', 'b', 2, 4, false),
    begin('r3', 'b', 'beginning', 0),
    ...saw('r3', 'b', 1, 4, false),
    left('r3', 'OK'),
    { kind: 'handled', worker: 'w', run: 'a', first: 1, last: 2 },
    { kind: 'handled', worker: 'w', run: 'a', first: 3, last: 6 },
    { kind: 'handled', worker: 'v', run: 'a', first: 1, last: 2 },
    ...stored('a', true),
    ...stored('b', false),
  ];
  return plain.map((entry, at) => ({ ...entry, timeMs: at }));
}

type Break = (entries: Entry[]) => void;

function find<Kind extends Entry['kind']>(
  entries: readonly Entry[],
  kind: Kind,
  matches: (entry: Extract<Entry, { kind: Kind }>) => boolean = () => true,
): number {
  const at = entries.findIndex(
    (entry) => entry.kind === kind && matches(entry as Extract<Entry, { kind: Kind }>),
  );
  if (at < 0) throw new Error(`no ${kind}`);
  return at;
}

/** Changes the first entry of a kind that matches. */
function change<Kind extends Entry['kind']>(
  kind: Kind,
  to: Partial<Extract<Entry, { kind: Kind }>>,
  matches?: (entry: Extract<Entry, { kind: Kind }>) => boolean,
): Break {
  return (entries) => {
    const at = find(entries, kind, matches);
    entries[at] = { ...entries[at], ...to } as Entry;
  };
}

function remove<Kind extends Entry['kind']>(
  kind: Kind,
  matches?: (entry: Extract<Entry, { kind: Kind }>) => boolean,
): Break {
  return (entries) => {
    entries.splice(find(entries, kind, matches), 1);
  };
}

function swap<Kind extends Entry['kind']>(
  kind: Kind,
  matches: (entry: Extract<Entry, { kind: Kind }>) => boolean,
): Break {
  return (entries) => {
    const at = find(entries, kind, matches);
    const [one, other] = [entries[at], entries[at + 1]];
    if (one !== undefined && other !== undefined) entries.splice(at, 2, other, one);
  };
}

const ofA = (sequence: number) => (entry: { run: string; sequence: number }) =>
  entry.run === 'a' && entry.sequence === sequence;
const endOf = (run: string, end: Partial<End>): Break =>
  change(
    'stored',
    { end: { ...END, ...end } },
    (entry) => entry.run === run && entry.end !== undefined,
  );

const broken: Readonly<Record<Guarantee, Readonly<Record<string, Break>>>> = {
  Ordered: {
    'a reader that sees two events in the wrong order': swap('saw', ofA(2)),
    'a log in the wrong order': swap('stored', ofA(3)),
    'a worker that gets a message behind a later one': swap('handled', ({ first }) => first === 1),
  },
  Contiguous: {
    'a log with a hole': remove('stored', ofA(4)),
    'a reader that misses one': remove('saw', ofA(2)),
  },
  Unique: {
    'an event that comes to a reader twice': change('saw', { sequence: 2 }, ofA(3)),
    'an event that is stored twice': change('stored', { sequence: 3 }, ofA(4)),
    'a request that became two events': change('answered', { sequence: 4 }),
  },
  Lossless: {
    'a line that is not what was written': change('stored', { line: 'x2' }, ofA(5)),
    'a line that is missing': (entries) => {
      entries.splice(
        find(entries, 'wrote', ({ run }) => run === 'b'),
        0,
        {
          kind: 'wrote',
          run: 'a',
          line: 'x3',
          timeMs: 0,
        },
      );
    },
    'bytes that were acknowledged and are not stored': change('acked', { bytes: 11 }),
  },
  'Committed-before-visible': {
    'a reader that saw what is not in the log': change('saw', { digest: 'other' }, ofA(5)),
    'an acknowledgement of what is not in the log': change('acked', { sequence: 7 }),
    'a cancel that was answered and is not in the log': change('answered', { sequence: 2 }),
    'a worker that handled what is not in the log': change(
      'handled',
      { last: 9 },
      ({ first }) => first === 3,
    ),
  },
  Resumable: {
    'a reader that goes on one too late': remove('saw', ofA(4)),
    'a reader that goes on one too early': (entries) => {
      const at = find(entries, 'subscribed', ({ by }) => by === 'sequence');
      const again = entries.find((entry) => entry.kind === 'saw' && entry.sequence === 3);
      if (again !== undefined) entries.splice(at + 1, 0, again);
    },
    'a reader that is ended too early': remove('saw', ofA(6)),
  },
  Bookmarkable: {
    'a cursor that is one too far': remove(
      'saw',
      (entry) => entry.reader === 'r2' && ofA(3)(entry),
    ),
  },
  Terminal: {
    'a run without an end': remove('stored', ofA(6)),
    'a run with two ends': change('stored', { what: 'runFinished' }, ofA(5)),
    'an event behind the end': (entries) => {
      entries.push({
        kind: 'stored',
        run: 'a',
        sequence: 7,
        digest: 'a7',
        what: 'toolDelta',
        timeMs: 1,
      });
    },
    'a reader that is ended well without an end': change('left', { status: 'OK' }),
  },
  'Cancel-terminates': {
    'a second SIGINT': (entries) => {
      entries.push({ kind: 'got', run: 'a', signal: 'SIGINT', timeMs: 1 });
    },
    'an end that comes too late': change('stored', { timeMs: 9_999 }, ofA(6)),
    'no end': remove('stored', ofA(6)),
  },
  Isolated: {
    'a bystander that ends otherwise': endOf('b', { outcome: 'LOST', synthetic: true }),
    'a reader of a bystander that fails': change(
      'left',
      { status: 'LOG_HOLE' },
      ({ reader }) => reader === 'r3',
    ),
  },
  'Honest-loss': {
    'an end that nobody saw and that is not marked': endOf('a', { outcome: 'LOST' }),
    'a lost run of which nobody was away': endOf('a', {
      outcome: 'LOST',
      synthetic: true,
      observed: false,
    }),
    'a synthetic end that does not say why': endOf('a', {
      synthetic: true,
      observed: false,
      detail: '',
    }),
    'a count of bytes that is wrong': endOf('a', { stdoutBytes: 9 }),
  },
};

describe('the checker', () => {
  it('finds nothing in a sound history', () => {
    expect(checkHistory({ entries: sound(), terms: TERMS }).map(violationText)).toEqual([]);
  });

  for (const [guarantee, breaks] of Object.entries(broken)) {
    for (const [title, breakIt] of Object.entries(breaks)) {
      it(`of ${guarantee} catches ${title}, and shows a small piece`, () => {
        const entries = sound();
        breakIt(entries);
        const history: History = { entries, terms: TERMS };
        const found = checks[guarantee as Guarantee](history);
        expect(found.length).toBeGreaterThan(0);
        for (const violation of found) {
          expect(violation.guarantee).toBe(guarantee);
          expect(violation.piece.length).toBeLessThanOrEqual(2);
          expect(violationText(violation)).toContain(guarantee);
        }
      });
    }
  }
});
