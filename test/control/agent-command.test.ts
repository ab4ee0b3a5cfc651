import { describe, expect, it } from 'vitest';
import { OutputMode } from '#gen/hep/bridge/v1/run_service_pb.js';
import { agentArgv } from '../../src/control/start/agent-command.js';
import { profileOf } from '../support/gateway.js';

const NOTHING = { prompt: '', parameters: {}, session: '', outputMode: OutputMode.UNSPECIFIED };

describe('the argv of an agent', () => {
  it('is the command with its placeholders filled, the session, then the parameters', () => {
    const profile = profileOf(['fa', '--output={output}', '{prompt_file}'], {
      output: 'events=full',
      session: { flag: '--session', pattern: /^s.*$/ },
      parameters: { model: { flag: '--model', pattern: /^.*$/ } },
    });
    const words = { ...NOTHING, session: 's1', parameters: { model: 'opus' } };
    expect(agentArgv(profile, words, '/d/$&/{output}')).toEqual([
      'fa',
      '--output=events=full',
      '/d/$&/{output}',
      '--session',
      's1',
      '--model',
      'opus',
    ]);
    expect(agentArgv(profile, { ...NOTHING, outputMode: OutputMode.EVENTS }, 'p')).toEqual([
      'fa',
      '--output=events',
      'p',
    ]);
  });
});
