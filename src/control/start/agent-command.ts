import { OutputMode, type StartRunRequest } from '#gen/hep/bridge/v1/run_service_pb.js';
import type { FieldViolation } from '../../errors.js';
import type { Output, Profile } from './profile.js';

const PROMPT_PLACEHOLDER = '{prompt_file}';
const OUTPUT_PLACEHOLDER = '{output}';

type Wishes = Pick<StartRunRequest, 'prompt' | 'parameters' | 'session' | 'outputMode'>;

/** What of a call the profile does not allow. */
export function checkWishes(profile: Profile, wishes: Wishes): readonly FieldViolation[] {
  return [
    ...checkParameters(profile, wishes.parameters),
    ...checkPrompt(profile, wishes.prompt),
    ...checkSession(profile, wishes.session),
    ...checkOutputMode(profile, wishes.outputMode),
  ];
}

function checkParameters(
  profile: Profile,
  parameters: Readonly<Record<string, string>>,
): readonly FieldViolation[] {
  const found: FieldViolation[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    const field = `parameters[${JSON.stringify(name)}]`;
    const parameter = Object.hasOwn(profile.parameters, name)
      ? profile.parameters[name]
      : undefined;
    if (parameter === undefined) {
      const known = Object.keys(profile.parameters).join(', ') || 'none';
      found.push({ field, description: `the profile has no such parameter; it has: ${known}` });
    } else if (!parameter.pattern.test(value)) {
      found.push({ field, description: `the value must match ${parameter.pattern.source}` });
    }
  }
  return found;
}

function checkPrompt(profile: Profile, prompt: string): readonly FieldViolation[] {
  if (profile.prompt !== 'none' || prompt === '') return [];
  return [{ field: 'prompt', description: 'this profile takes no prompt' }];
}

function checkSession({ session }: Profile, name: string): readonly FieldViolation[] {
  if (name === '' || session?.pattern.test(name) === true) return [];
  const description =
    session === undefined
      ? 'this profile takes no session; give it the key session in the configuration'
      : `the name must match ${session.pattern.source}`;
  return [{ field: 'session', description }];
}

function checkOutputMode({ command }: Profile, mode: OutputMode): readonly FieldViolation[] {
  const field = 'output_mode';
  if (mode === OutputMode.UNSPECIFIED) return [];
  if (OutputMode[mode] === undefined) return [{ field, description: `there is no mode ${mode}` }];
  if (command.some((word) => word.includes(OUTPUT_PLACEHOLDER))) return [];
  const description = `the profile's command has no ${OUTPUT_PLACEHOLDER} where a mode could go`;
  return [{ field, description }];
}

/** The agent's argv: the profile's command, the session, then the parameters in the profile's order. */
export function agentArgv(profile: Profile, wishes: Wishes, promptFile: string): readonly string[] {
  const output = outputOf(profile, wishes.outputMode);
  const words: Readonly<Record<string, string>> = {
    [PROMPT_PLACEHOLDER]: promptFile,
    [OUTPUT_PLACEHOLDER]: output,
  };
  const argv = profile.command.map((word) =>
    word.replace(/\{(?:prompt_file|output)\}/g, (placeholder) => words[placeholder] ?? placeholder),
  );
  const add = (flag: string | undefined, value: string): void => {
    if (flag !== undefined) argv.push(flag);
    argv.push(value);
  };
  if (wishes.session !== '') add(profile.session?.flag, wishes.session);
  for (const [name, { flag }] of Object.entries(profile.parameters)) {
    const value = wishes.parameters[name];
    if (value !== undefined) add(flag, value);
  }
  return argv;
}

function outputOf(profile: Profile, mode: OutputMode): Output {
  switch (mode) {
    case OutputMode.EVENTS:
      return 'events';
    case OutputMode.EVENTS_FULL:
      return 'events=full';
    default:
      return profile.output;
  }
}

/** The agent's environment without its secrets: what is let through of `own`, then what is set. */
export function agentEnv(
  profile: Profile,
  own: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const name of profile.envAllow) {
    const value = own[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...profile.envSet };
}
