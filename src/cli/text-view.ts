import type { Event, RunFinished } from '#gen/hep/event/v1/event_pb.js';
import { CancelCause, MalformedLine_Reason } from '#gen/hep/event/v1/event_pb.js';
import { outcomeText } from './outcome-text.js';
import type { Output } from './output.js';
import { oneLine, printable } from './printable.js';
import type { EventView } from './show-events.js';

const maxChars = 160;

/**
 * A person's view: the model's text as it streams, a line for each tool and for what went wrong, the
 * outcome. The agent's stderr goes to stderr.
 */
export function textView(stdout: Output, stderr: Output): EventView {
  let atLineStart = true;
  /** Text of the open round that was shown already. */
  let shown = '';

  function text(piece: string): Promise<boolean> {
    if (piece === '') return Promise.resolve(!stdout.isGone);
    atLineStart = piece.endsWith('\n');
    return stdout.write(printable(piece));
  }

  function line(words: string): Promise<boolean> {
    const breakBefore = atLineStart ? '' : '\n';
    atLineStart = true;
    return stdout.line(breakBefore + words);
  }

  function endLine(): Promise<boolean> {
    if (atLineStart) return Promise.resolve(!stdout.isGone);
    atLineStart = true;
    return stdout.line('');
  }

  async function showPayload({ payload, violations }: Event): Promise<boolean> {
    for (const { field, detail } of violations) {
      if (!(await line(`! ${payload.case}: ${field === '' ? '' : `${field}: `}${detail}`)))
        return false;
    }
    switch (payload.case) {
      case 'messageStart':
        shown = '';
        return endLine();
      case 'messageDelta':
        shown += payload.value.delta;
        return text(payload.value.delta);
      case 'turnDone': {
        const { message } = payload.value;
        const rest = message.startsWith(shown) ? message.slice(shown.length) : `\n${message}`;
        shown = '';
        await text(rest);
        for (const { ok, name, text: result } of payload.value.toolResults) {
          if (
            !(await line(`  ${ok ? '✓' : '✗'} ${oneLine(name, 40)}: ${oneLine(result, maxChars)}`))
          ) {
            return false;
          }
        }
        return endLine();
      }
      default: {
        const words = payloadLine(payload);
        return words === undefined ? !stdout.isGone : line(words);
      }
    }
  }

  return {
    async show({ event }) {
      if (event.payload.case === 'stderrChunk') {
        await stderr.write(printable(Buffer.from(event.payload.value.data).toString()));
        return !stdout.isGone;
      }
      return showPayload(event);
    },
  };
}

/** The one line that stands for a payload; undefined for what says nothing to a person. */
function payloadLine(payload: Event['payload']): string | undefined {
  switch (payload.case) {
    case 'hepHeader':
      return `session ${oneLine(payload.value.session, 80)}`;
    case 'toolStart':
      return `▸ ${oneLine(payload.value.name, 40)} ${oneLine(payload.value.argsSummary, maxChars)}`;
    case 'toolLiveness': {
      const { name, action, elapsedMs, detail } = payload.value;
      const after = elapsedMs === undefined ? '' : ` after ${Number(elapsedMs) / 1000} s`;
      const why = detail === undefined ? '' : `: ${oneLine(detail, maxChars)}`;
      return `  … ${oneLine(name, 40)} ${oneLine(action, 40)}${after}${why}`;
    }
    case 'turnError':
      return `✗ ${oneLine(payload.value.error, 500)}`;
    case 'cancelled':
      return '✗ round cancelled';
    case 'compactionStart':
      return '(compacting the context)';
    case 'unknownFrame':
      return `? frame of the unknown type ${oneLine(payload.value.type, 80)}`;
    case 'malformedLine': {
      const reason = MalformedLine_Reason[payload.value.reason] ?? payload.value.reason;
      return `! a line that is no frame: ${reason}: ${payload.value.detail}`;
    }
    case 'oversizeLine':
      return `! a line of ${payload.value.lineBytes} bytes is over the limit and was not kept`;
    case 'cancelRequested': {
      const { cause, reason } = payload.value;
      const why = reason === '' ? (CancelCause[cause] ?? String(cause)) : oneLine(reason, maxChars);
      return `■ cancel requested: ${why}`;
    }
    case 'cancelSignalled': {
      const { signal, processGroup, error } = payload.value;
      // A client that feeds the run chooses these words.
      const failed = error === '' ? '' : ` failed: ${oneLine(error, maxChars)}`;
      return `■ ${oneLine(signal, 40)}${processGroup ? ' to the process group' : ''}${failed}`;
    }
    case 'historyExpired':
      return `! events up to ${payload.value.lastSequence} were removed by retention`;
    case 'runFinished':
      return finishedLine(payload.value);
    case 'agentStart':
    case 'messageStart':
    case 'messageDelta':
    case 'toolDelta':
    case 'compactionEnd':
    case 'turnDone':
    case 'runStarted':
    case 'stderrChunk':
    case undefined:
      return undefined;
  }
}

function finishedLine({ outcome, reason, detail, usage, stderrTail }: RunFinished): string {
  const why = detail === '' ? '' : `: ${oneLine(detail, 300)}`;
  const cost = usage?.cost === undefined || usage.cost === 0 ? '' : `, $${usage.cost.toFixed(4)}`;
  const tokens =
    usage === undefined ? '' : ` [${usage.input ?? 0} tokens in, ${usage.output ?? 0} out${cost}]`;
  const lastWords = oneLine(
    Buffer.from(stderrTail).toString().trim().split('\n').at(-1) ?? '',
    300,
  );
  const isFine = outcome === 1 || lastWords === '';
  return `● ${outcomeText(outcome, reason)}${why}${tokens}${isFine ? '' : `\n  stderr: ${lastWords}`}`;
}
