import { describe, expect, it } from 'vitest';
import { Outcome, OutcomeReason } from '#gen/hep/event/v1/outcome_pb.js';
import { decideOutcome, type EndFacts, type Exit } from '../../src/ingest/outcome.js';

const plain: EndFacts = {
  exit: { kind: 'code', code: 0 },
  refusal: undefined,
  strictBreach: '',
  cancelSignalled: false,
  truncated: false,
  lastTerminal: 'turnDone',
};

const code = (value: number): Exit => ({ kind: 'code', code: value });
const SIGKILL: Exit = { kind: 'signal', signal: 'SIGKILL' };
const SIGINT: Exit = { kind: 'signal', signal: 'SIGINT' };
const UNKNOWN: Exit = { kind: 'unknown' };
const SPAWN: Exit = { kind: 'spawn-failed', message: 'ENOENT: no such command' };
const GONE: Exit = { kind: 'owner-gone', message: 'gone' };
const refusal = {
  reason: OutcomeReason.HEADER_UNSUPPORTED as const,
  detail: 'hep is "v2"',
  line: new Uint8Array(0),
};
const missing = { ...refusal, reason: OutcomeReason.HEADER_MISSING as const };

function decide(facts: Partial<EndFacts>): string {
  const { outcome, reason } = decideOutcome({ ...plain, ...facts });
  return `${Outcome[outcome]} / ${OutcomeReason[reason]}`;
}

describe('the outcome of a run, by row of the table', () => {
  it.each<[string, Partial<EndFacts>, string]>([
    ['1 never started', { exit: SPAWN, lastTerminal: undefined }, 'FAILED / SPAWN'],
    ['2 owner gone', { exit: GONE }, 'LOST / OWNER_GONE'],
    ['3 no header', { refusal: missing }, 'REFUSED / HEADER_MISSING'],
    ['3 other major', { refusal }, 'REFUSED / HEADER_UNSUPPORTED'],
    ['4 strict', { strictBreach: 'x' }, 'FAILED / STRICT'],
    ['5 cancel, SIGKILL', { cancelSignalled: true, exit: SIGKILL }, 'CANCELLED / CANCEL_SIGNALLED'],
    ['5 cancel, 130', { cancelSignalled: true, exit: code(130) }, 'CANCELLED / CANCEL_SIGNALLED'],
    ['5 cancel, 143', { cancelSignalled: true, exit: code(143) }, 'CANCELLED / CANCEL_SIGNALLED'],
    ['6 cut line', { truncated: true }, 'INCOMPLETE / TRUNCATED'],
    ['6 signal', { exit: SIGKILL }, 'INCOMPLETE / CRASHED'],
    ['6 exit 143', { exit: code(143) }, 'INCOMPLETE / CRASHED'],
    ['7 exit 130', { exit: code(130), lastTerminal: 'cancelled' }, 'CANCELLED / INTERRUPTED'],
    ['8 exit 3', { exit: code(3), lastTerminal: undefined }, 'FAILED / SESSION_BUSY'],
    ['8 exit 64', { exit: code(64), lastTerminal: undefined }, 'FAILED / USAGE'],
    ['8 exit 1, turn_error', { exit: code(1), lastTerminal: 'turnError' }, 'FAILED / TURN_ERROR'],
    ['8 exit 1, no terminal', { exit: code(1), lastTerminal: undefined }, 'FAILED / EXIT_CODE'],
    ['8 exit 1, turn_done', { exit: code(1) }, 'FAILED / EXIT_CODE'],
    ['8 other code', { exit: code(7), lastTerminal: 'turnError' }, 'FAILED / EXIT_CODE'],
    ['9 turn_done', {}, 'COMPLETED / TURN_DONE'],
    ['9 turn_error', { lastTerminal: 'turnError' }, 'FAILED / TURN_ERROR'],
    ['9 cancelled', { lastTerminal: 'cancelled' }, 'CANCELLED / TURN_CANCELLED'],
    ['9 none', { lastTerminal: undefined }, 'INCOMPLETE / NO_TERMINAL'],
    ['9 exit unknown, turn_done', { exit: UNKNOWN }, 'COMPLETED / TURN_DONE'],
    [
      '9 exit unknown, none',
      { exit: UNKNOWN, lastTerminal: undefined },
      'INCOMPLETE / NO_TERMINAL',
    ],
  ])('row %s', (_row, facts, expected) => {
    expect(decide(facts)).toBe(expected);
  });
});

describe('the outcome where two rows could speak: the earlier one does', () => {
  it.each<[string, Partial<EndFacts>, string]>([
    [
      '1 over 5: a cancel before the spawn failed',
      { exit: SPAWN, cancelSignalled: true },
      'FAILED / SPAWN',
    ],
    ['2 over 3', { exit: GONE, refusal }, 'LOST / OWNER_GONE'],
    ['2 over 5', { exit: GONE, cancelSignalled: true }, 'LOST / OWNER_GONE'],
    ['2 over 6', { exit: GONE, truncated: true }, 'LOST / OWNER_GONE'],
    ['3 over 4', { refusal, strictBreach: 'x' }, 'REFUSED / HEADER_UNSUPPORTED'],
    [
      '3 over 5: stopped because refused',
      { refusal, exit: SIGINT, cancelSignalled: true },
      'REFUSED / HEADER_UNSUPPORTED',
    ],
    ['3 over 6', { refusal, exit: SIGKILL }, 'REFUSED / HEADER_UNSUPPORTED'],
    ['3 over 8', { refusal, exit: code(64) }, 'REFUSED / HEADER_UNSUPPORTED'],
    ['4 over 5', { strictBreach: 'x', cancelSignalled: true, exit: code(130) }, 'FAILED / STRICT'],
    ['4 over 6', { strictBreach: 'x', exit: SIGINT }, 'FAILED / STRICT'],
    ['4 over 9', { strictBreach: 'x' }, 'FAILED / STRICT'],
    [
      '5 over 6: cut line',
      { cancelSignalled: true, exit: SIGKILL, truncated: true },
      'CANCELLED / CANCEL_SIGNALLED',
    ],
    [
      '5 over 7',
      { cancelSignalled: true, exit: code(130), lastTerminal: 'cancelled' },
      'CANCELLED / CANCEL_SIGNALLED',
    ],
    ['not 5: finished in spite of a cancel', { cancelSignalled: true }, 'COMPLETED / TURN_DONE'],
    [
      'not 5 but 8: a failure in spite of a cancel',
      { cancelSignalled: true, exit: code(1), lastTerminal: 'turnError' },
      'FAILED / TURN_ERROR',
    ],
    [
      'not 5 but 6: a cut line and exit 0 in spite of a cancel',
      { cancelSignalled: true, truncated: true },
      'INCOMPLETE / TRUNCATED',
    ],
    ['6 over 7', { exit: code(130), truncated: true }, 'INCOMPLETE / TRUNCATED'],
    ['6 over 8', { exit: code(1), truncated: true }, 'INCOMPLETE / TRUNCATED'],
    [
      '6 over 9: a signal after turn_done',
      { exit: SIGKILL, lastTerminal: 'turnDone' },
      'INCOMPLETE / CRASHED',
    ],
    [
      '6 within: a signal inside a line',
      { exit: SIGKILL, truncated: true },
      'INCOMPLETE / CRASHED',
    ],
    ['6 within: 143 inside a line', { exit: code(143), truncated: true }, 'INCOMPLETE / CRASHED'],
    ['7 over 9: 130 after turn_done', { exit: code(130) }, 'CANCELLED / INTERRUPTED'],
    [
      '8 over 9: exit 1 after cancelled',
      { exit: code(1), lastTerminal: 'cancelled' },
      'FAILED / EXIT_CODE',
    ],
  ])('%s', (_rows, facts, expected) => {
    expect(decide(facts)).toBe(expected);
  });
});

describe('the outcome for every exit code and terminal', () => {
  const terminals = ['turnDone', 'turnError', 'cancelled', undefined] as const;

  it('is never COMPLETED unless the exit is 0 or unknown and the last terminal is turn_done', () => {
    for (let value = 0; value < 256; value += 1) {
      for (const lastTerminal of terminals) {
        const isCompleted = decide({ exit: code(value), lastTerminal }).startsWith('COMPLETED');
        expect(isCompleted).toBe(value === 0 && lastTerminal === 'turnDone');
      }
    }
  });

  it('names the exit or the signal in its detail', () => {
    expect(decideOutcome({ ...plain, exit: code(7) }).detail).toContain('7');
    expect(decideOutcome({ ...plain, exit: SIGKILL }).detail).toContain('SIGKILL');
    expect(decideOutcome({ ...plain, exit: UNKNOWN }).detail).toContain('not observed');
  });
});
