import type { CancelSignalled, Event } from '#gen/hep/event/v1/event_pb.js';
import { oneLine } from './printable.js';

/** What an event says of the way to a run's end; undefined for what says nothing of it. */
export function cancelStage({ payload }: Event): string | undefined {
  if (payload.case === 'cancelSignalled') return signalText(payload.value);
  if (payload.case !== 'cancelRequested') return undefined;
  const { requestId, force } = payload.value;
  return `requested (${requestId})${force ? ' with force' : ''}`;
}

function signalText({ signal, processGroup, error }: CancelSignalled): string {
  // A client that feeds the run chooses these words.
  const name = oneLine(signal, 40);
  if (error !== '') return `could not send ${name}: ${oneLine(error, 160)}`;
  // From one that has no agent, only its output.
  if (signal === 'SIGPIPE') return 'pipe closed';
  return `${name} sent${processGroup ? ' to the process group' : ''}`;
}
