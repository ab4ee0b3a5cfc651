import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { BridgeError } from '../errors.js';
import { checkSettings } from './check-settings.js';
import type { ProfileSettings, Settings } from './settings.js';

/**
 * The settings of a YAML file. Paths in it are relative to its folder; a leading `~/` is the home
 * directory. Throws `CONFIG_INVALID`.
 */
export function readSettingsFile(path: string): Settings {
  const raw = parseYaml(path, readText(path));
  const settings = checkSettings(raw, (at) => `${path}: ${at.map(String).join('.') || 'the file'}`);
  return withPaths(settings, dirname(resolve(path)));
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `cannot read the configuration ${path}: ${why}; check --config`;
    throw new BridgeError('CONFIG_INVALID', message, { cause });
  }
}

function parseYaml(path: string, text: string): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error === undefined) return document.toJS();
  const { line, col } = lineCounter.linePos(error.pos[0]);
  throw new BridgeError('CONFIG_INVALID', `${path}:${line}:${col}: not YAML: ${error.message}`);
}

function withPaths(settings: Settings, dir: string): Settings {
  const { nats, profiles } = settings;
  const absolute = (path: string | undefined): string | undefined => {
    if (path === undefined || isAbsolute(path)) return path;
    return path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(dir, path);
  };
  const tls = nats?.tls;
  return {
    ...settings,
    data_dir: absolute(settings.data_dir),
    nats_server: absolute(settings.nats_server),
    nats: nats && {
      ...nats,
      creds_file: absolute(nats.creds_file),
      tls: tls && { ca: absolute(tls.ca), cert: absolute(tls.cert), key: absolute(tls.key) },
    },
    profiles:
      profiles &&
      Object.fromEntries(
        Object.entries(profiles).map(([name, profile]) => [name, profilePaths(profile, absolute)]),
      ),
  };
}

function profilePaths(
  profile: ProfileSettings,
  absolute: (path: string | undefined) => string | undefined,
): ProfileSettings {
  const { command, probe, env_files, cwd } = profile;
  // A bare name is looked up on PATH.
  const found = (program: string): string =>
    program.includes('/') ? (absolute(program) ?? program) : program;
  const withProgram = ([program = '', ...rest]: string[]): string[] => [found(program), ...rest];
  const secrets = Object.entries(env_files ?? {});
  return {
    ...profile,
    command: withProgram(command),
    probe: probe && withProgram(probe),
    env_files: Object.fromEntries(secrets.map(([name, path]) => [name, absolute(path) ?? path])),
    cwd: absolute(cwd),
  };
}
