import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type CancelSignalledSchema, EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { cancelStage } from '../../src/cli/cancel-stage.js';

function signalled(value: MessageInitShape<typeof CancelSignalledSchema>): string | undefined {
  return cancelStage(create(EventSchema, { payload: { case: 'cancelSignalled', value } }));
}

function requested(force: boolean): string | undefined {
  const value = { requestId: 'r1', force };
  return cancelStage(create(EventSchema, { payload: { case: 'cancelRequested', value } }));
}

describe('a stage of a cancel', () => {
  it('is a request, with its id', () => {
    expect(requested(false)).toBe('requested (r1)');
    expect(requested(true)).toBe('requested (r1) with force');
  });

  it('is a signal that was sent', () => {
    expect(signalled({ signal: 'SIGINT' })).toBe('SIGINT sent');
    expect(signalled({ signal: 'SIGKILL', processGroup: true })).toBe(
      'SIGKILL sent to the process group',
    );
    expect(signalled({ signal: 'SIGPIPE' })).toBe('pipe closed');
  });

  it('is a signal that could not be sent, in printable words', () => {
    expect(signalled({ signal: 'SIGTERM', error: 'ESRCH' })).toBe('could not send SIGTERM: ESRCH');
    expect(signalled({ signal: 'SIG\u001b[2J' })).toBe('SIG\ufffd[2J sent');
  });

  it('is nothing else', () => {
    const payload = { case: 'messageDelta' as const, value: { delta: 'x' } };
    expect(cancelStage(create(EventSchema, { payload }))).toBeUndefined();
  });
});
