import type { RunEvent } from '../client/bridge-client.js';
import type { Output } from './output.js';

/** Shows the events of one run, in order. */
export interface EventView {
  /** False when nobody reads any more. */
  show(event: RunEvent): Promise<boolean>;
}

/** Which view, by `-o`. */
export type MakeView = (stdout: Output, stderr: Output) => EventView;

/** Shows all events up to the end of the run, or until nobody reads; the last one shown. */
export async function showEvents(
  events: AsyncIterable<RunEvent>,
  view: EventView,
): Promise<RunEvent | undefined> {
  let last: RunEvent | undefined;
  for await (const event of events) {
    last = event;
    if (!(await view.show(event))) break;
  }
  return last;
}
