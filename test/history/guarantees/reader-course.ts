import { type EntryOf, entriesOf, type History } from '../history.js';

type Subscribed = EntryOf<'subscribed'>;
type Saw = EntryOf<'saw'>;

/** One call of a reader: from where it began, and what of each run it saw. */
export interface Call {
  readonly reader: string;
  readonly begin: Subscribed;
  readonly saw: readonly Saw[];
  readonly left: EntryOf<'left'> | undefined;
}

/** The calls of all readers, each reader's in order. */
export function callsOf(history: History): readonly Call[] {
  const calls: { reader: string; begin: Subscribed; saw: Saw[]; left: Call['left'] }[] = [];
  const open = new Map<string, (typeof calls)[number]>();
  for (const entry of history.entries) {
    if (entry.kind === 'subscribed') {
      const call = { reader: entry.reader, begin: entry, saw: [], left: undefined };
      calls.push(call);
      open.set(entry.reader, call);
    }
    if (entry.kind === 'saw') open.get(entry.reader)?.saw.push(entry);
    if (entry.kind === 'left') {
      const call = open.get(entry.reader);
      if (call !== undefined) call.left = entry;
    }
  }
  return calls;
}

/** All calls of a reader of one run, one after the other: it went on where it was. */
export function coursesOf(history: History): ReadonlyMap<string, readonly Call[]> {
  const courses = new Map<string, Call[]>();
  for (const call of callsOf(history)) {
    courses.set(call.reader, [...(courses.get(call.reader) ?? []), call]);
  }
  return courses;
}

/** What the log holds of each run, in its order. */
export function logOf(history: History): ReadonlyMap<string, readonly EntryOf<'stored'>[]> {
  const log = new Map<string, EntryOf<'stored'>[]>();
  for (const entry of entriesOf(history, 'stored')) {
    const run = log.get(entry.run);
    if (run === undefined) log.set(entry.run, [entry]);
    else run.push(entry);
  }
  return log;
}
