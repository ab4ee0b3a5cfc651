import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { type Event, EventSchema } from '#gen/hep/event/v1/event_pb.js';
import type { Output } from '../../src/cli/output.js';
import { textView } from '../../src/cli/text-view.js';

/** What a person sees of the events. */
async function shown(events: readonly Event[]): Promise<string> {
  let all = '';
  const write = async (data: string | Uint8Array): Promise<boolean> => {
    all += Buffer.from(data).toString();
    return true;
  };
  const line = (text: string): Promise<boolean> => write(`${text}\n`);
  const output: Output = { isTty: false, columns: 0, isGone: false, write, line };
  const view = textView(output, output);
  for (const [at, event] of events.entries()) {
    await view.show({ runId: 'r', sequence: at + 1, timeUs: 0, canonicalForm: 1, event });
  }
  return all;
}

it('shows what a client says of a signal without control characters', async () => {
  const value = { signal: 'SIG\u001b[2J', error: 'EPERM\u0007\nmore' };
  const event = create(EventSchema, { payload: { case: 'cancelSignalled', value } });
  expect(await shown([event])).toBe('■ SIG\ufffd[2J failed: EPERM\ufffd more\n');
});
