import { create } from '@bufbuild/protobuf';
import type { Event } from '#gen/hep/event/v1/event_pb.js';
import { type Usage, UsageSchema } from '#gen/hep/frame/v1/frame_pb.js';
import type { TerminalKind } from './outcome.js';

/** What RunFinished says of a run's frames; bounded, whatever the run's length. */
export interface StreamFacts {
  /** From the header; empty before it. */
  readonly session: string;
  readonly lastTerminal: { readonly kind: TerminalKind; readonly sequence: number } | undefined;
  /** Sequence of the turn_done whose message is the answer; 0 if there is none. */
  readonly answerSequence: number;
  /** The answer; undefined beyond `ANSWER_BYTES`. */
  readonly answer: string | undefined;
  /** Sum over turn_done; undefined if none carried usage. */
  readonly usage: Usage | undefined;
  /** Takes the next frame of the run; frames that say nothing here need not be given. */
  observe(payload: Event['payload'], sequence: number): void;
}

const ANSWER_BYTES = 65_536;
const INT64_MAX = 2n ** 63n - 1n;

export function createStreamFacts(): StreamFacts {
  let session = '';
  let lastTerminal: StreamFacts['lastTerminal'];
  let answerSequence = 0;
  let answer: string | undefined;
  let answerIsEmpty = true;
  let usage: Usage | undefined;

  function observeAnswer(message: string, sequence: number): void {
    // A later round without text (a reaction to a background job) does not take the answer away.
    if (message === '' && !answerIsEmpty) return;
    answerSequence = sequence;
    answerIsEmpty = message === '';
    answer = Buffer.byteLength(message) <= ANSWER_BYTES ? message : undefined;
  }

  return {
    get session() {
      return session;
    },
    get lastTerminal() {
      return lastTerminal;
    },
    get answerSequence() {
      return answerSequence;
    },
    get answer() {
      return answer;
    },
    get usage() {
      return usage;
    },
    observe(payload, sequence) {
      switch (payload.case) {
        case 'hepHeader':
          if (session === '') session = payload.value.session;
          break;
        case 'turnDone':
          lastTerminal = { kind: payload.case, sequence };
          observeAnswer(payload.value.message, sequence);
          usage = addUsage(usage, payload.value.usage);
          break;
        case 'turnError':
        case 'cancelled':
          lastTerminal = { kind: payload.case, sequence };
          break;
        default:
          break;
      }
    },
  };
}

function addUsage(sum: Usage | undefined, round: Usage | undefined): Usage | undefined {
  if (round === undefined) return sum;
  const total = create(UsageSchema);
  const input = addTokens(sum?.input, round.input);
  const output = addTokens(sum?.output, round.output);
  const cost = sum?.cost === undefined ? round.cost : sum.cost + (round.cost ?? 0);
  if (input !== undefined) total.input = input;
  if (output !== undefined) total.output = output;
  if (cost !== undefined && Number.isFinite(cost)) total.cost = cost;
  return total;
}

/** The sum, held at the field's limits: the sum is a lower bound in any case. */
function addTokens(sum: bigint | undefined, round: bigint | undefined): bigint | undefined {
  if (sum === undefined || round === undefined) return sum ?? round;
  const total = sum + round;
  if (total > INT64_MAX) return INT64_MAX;
  return total < -INT64_MAX ? -INT64_MAX : total;
}
