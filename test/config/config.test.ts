import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BridgeConfig, resolveConfig } from '../../src/config/config.js';
import { readEnvironment } from '../../src/config/read-environment.js';
import { readSettingsFile } from '../../src/config/read-settings-file.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hep-config-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function fromYaml(text: string, env: Record<string, string> = {}): BridgeConfig {
  const file = join(dir, 'bridge.yaml');
  writeFileSync(file, text);
  return resolveConfig([readEnvironment(env), readSettingsFile(file)], env);
}

describe('configuration', () => {
  it('has a default for everything', () => {
    const config = resolveConfig([], { XDG_DATA_HOME: '/data' });
    expect(config).toMatchObject({
      listen: '127.0.0.1:4880',
      dataDir: '/data/hep-bridge',
      nats: undefined,
      durability: 'power',
      maxRuns: 1_000,
      maxStartsPerSecond: 100,
      onStop: 'cancel',
      interruptGraceMs: 12_000,
      profiles: {},
    });
  });

  it('reads durations, sizes and profiles', () => {
    const config = fromYaml(`
reconnect_window: 1.5m
limits: { max_line_bytes: 1MiB, max_message_bytes: 65536 }
profiles:
  fa:
    command: [fa, --prompt, '{prompt_file}']
    cwd: work
    deadline: 2h
    parameters:
      model: { flag: --model, pattern: '[a-z]+|x' }
`);
    expect(config.reconnectWindowMs).toBe(90_000);
    expect(config.limits).toMatchObject({ maxLineBytes: 1_048_576, maxMessageBytes: 65_536 });
    const profile = config.profiles.fa;
    expect(profile).toMatchObject({
      cwd: join(dir, 'work'),
      prompt: 'file',
      policies: { deadlineMs: 7_200_000 },
    });
    expect(profile?.parameters.model?.pattern.test('opus')).toBe(true);
    expect(profile?.parameters.model?.pattern.test('xy1')).toBe(false);
  });

  it('gives a session of a profile its flag and its pattern', () => {
    const { a, b, c } = fromYaml(`
profiles:
  a: { command: [a], session: {} }
  b: { command: [b, '{output}'], output: events=full, session: { flag: -s, pattern: '[0-9]+|x' } }
  c: { command: [c] }
`).profiles;
    expect(a?.session?.flag).toBe('--session');
    const valid = ['a', '0b1.c_d-e', 'x'.repeat(128)];
    const invalid = ['', '-a', '.a', 'a b', 'a\n', 'a/b', 'x'.repeat(129)];
    for (const name of valid) expect(a?.session?.pattern.test(name)).toBe(true);
    for (const name of invalid) expect(a?.session?.pattern.test(name)).toBe(false);
    expect(b).toMatchObject({ output: 'events=full', session: { flag: '-s' } });
    expect(b?.session?.pattern.test('x1')).toBe(false);
    expect(c).toMatchObject({ output: 'events', session: undefined });
  });

  it('takes the paths of secrets and of a probe from the folder of the file', () => {
    const yaml =
      'profiles: { a: { command: [a], env_files: { K: key, L: /run/l }, probe: [./a, -V] } }';
    expect(fromYaml(yaml).profiles.a).toMatchObject({
      envFiles: { K: join(dir, 'key'), L: '/run/l' },
      probe: [join(dir, 'a'), '-V'],
    });
  });

  it('takes the environment before the file', () => {
    const env = { HEP_BRIDGE_LISTEN: '127.0.0.1:1', HEP_BRIDGE_STRICT: 'true' };
    const config = fromYaml('listen: 127.0.0.1:2\nmax_runs: 3', env);
    expect(config).toMatchObject({ listen: '127.0.0.1:1', strict: true, maxRuns: 3 });
  });

  it('uses no TLS for NATS unless it is told to', () => {
    expect(fromYaml('nats: { url: "nats://h:1" }').nats).toEqual({ url: 'nats://h:1' });
  });

  it('loads the example', () => {
    const example = fileURLToPath(new URL('../../examples/hep-bridge.yaml', import.meta.url));
    expect(Object.keys(resolveConfig([readSettingsFile(example)], {}).profiles)).toEqual(['fa']);
  });

  for (const [title, text, message] of [
    ['an unknown key with the nearest known one', 'maxRuns: 3', /yaml: maxRuns:.*max_runs/],
    [
      'an unknown key of a profile',
      'profiles: {a: {command: [x], cdw: /}}',
      /profiles\.a\.cdw.*cwd/,
    ],
    [
      'a misspelled key rather than the one that it makes missing',
      'profiles: {a: {comand: [x]}}',
      /profiles\.a\.comand.*did you mean command/,
    ],
    ['a duration that is none', 'interrupt_grace: 12', /yaml: interrupt_grace: /],
    ['a duration without a unit', 'interrupt_grace: "12"', /"12" is not a duration such as 500ms/],
    [
      'a value that is not one of the known',
      'on_stop: die',
      /on_stop: must be one of: drain, cancel, leave/,
    ],
    ['an address without a port', 'listen: localhost', /listen: is not host:port/],
    [
      'a pattern that is none',
      'profiles: {a: {command: [x], parameters: {p: {pattern: "("}}}}',
      /pattern/,
    ],
    [
      'an output that the command takes nowhere',
      'profiles: {a: {command: [x], output: events}}',
      /profiles\.a\.output: the command has no \{output\}/,
    ],
    [
      'a variable that is set twice',
      'profiles: {a: {command: [x], env_set: {K: v}, env_files: {K: f}}}',
      /profiles\.a\.env_files\.K: stands in env_set/,
    ],
    [
      'a variable without a name',
      'profiles: {a: {command: [x], env_files: {"A=B": f}}}',
      /profiles\.a\.env_files\.A=B: /,
    ],
    ['text that is not YAML', 'a: [', /bridge\.yaml:1:\d+: not YAML/],
    ['credentials without a server', 'nats: { token: t }', /--nats-url/],
  ] as const) {
    it(`refuses ${title}`, () => {
      expect(() => fromYaml(text)).toThrow(message);
      expect(() => fromYaml(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    });
  }

  it('names the variable at fault', () => {
    expect(() => readEnvironment({ HEP_BRIDGE_DURABILITY: 'x' })).toThrow(
      /HEP_BRIDGE_DURABILITY: must be one of/,
    );
    expect(() => readEnvironment({ HEP_BRIDGE_STRICT: 'yes' })).toThrow(/HEP_BRIDGE_STRICT/);
  });
});
