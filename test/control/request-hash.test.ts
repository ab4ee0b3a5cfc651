import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { OutputMode, StartRunRequestSchema } from '#gen/hep/bridge/v1/run_service_pb.js';
import { startRequestHash } from '../../src/control/request-hash.js';

function hashOf(request: MessageInitShape<typeof StartRunRequestSchema>): string {
  return startRequestHash(create(StartRunRequestSchema, request));
}

const PLAIN = {
  profile: 'fa',
  prompt: 'hi',
  labels: { b: '2', a: '1' },
  partitionKey: 'k',
  parameters: { model: 'opus' },
  deadline: { seconds: 2n, nanos: 5 },
};

describe('the hash of a start request', () => {
  it('of runs that were started before sessions, output modes and policies is the same', () => {
    const before = 'b5b57ef919aae4febc2aaa6c42b07ca63df5ea6d86d350de6db5388cc5573f23';
    expect(hashOf(PLAIN)).toBe(before);
    expect(hashOf({ ...PLAIN, runId: 'x', outputMode: 0, session: '', policies: {} })).toBe(before);
  });

  it('differs with each of them', () => {
    const requests: readonly MessageInitShape<typeof StartRunRequestSchema>[] = [
      PLAIN,
      { ...PLAIN, session: 's' },
      { ...PLAIN, session: 't' },
      { ...PLAIN, outputMode: OutputMode.EVENTS },
      { ...PLAIN, outputMode: OutputMode.EVENTS_FULL },
      { ...PLAIN, policies: { maxEvents: 1n } },
      { ...PLAIN, policies: { maxTokens: 1n } },
      { ...PLAIN, policies: { maxEvents: 1n }, session: 's' },
    ];
    expect(new Set(requests.map(hashOf)).size).toBe(requests.length);
  });
});
