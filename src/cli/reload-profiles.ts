import { changedSettings } from '../config/changed-settings.js';
import type { BridgeConfig } from '../config/config.js';
import { readSettingsFile } from '../config/read-settings-file.js';
import type { Settings } from '../config/settings.js';
import type { Logger } from '../control/logger.js';
import { toBridgeError } from '../errors.js';
import type { Gateway } from '../gateway.js';

export interface ReloadOptions {
  /** Path of the configuration file. */
  readonly file: string;
  /** What the file said when the gateway was started. */
  readonly running: Settings;
  /** Decides every setting with the file's; throws `CONFIG_INVALID`. */
  readonly resolve: (file: Settings) => BridgeConfig;
  readonly logger: Logger;
}

/** Reads the file again and takes its profiles for new starts; one that is at fault changes nothing. */
export function reloadProfiles(gateway: Gateway, options: ReloadOptions): void {
  const { file, running, resolve, logger } = options;
  try {
    const settings = readSettingsFile(file);
    const { profiles } = resolve(settings);
    gateway.reloadProfiles(profiles);
    const names = Object.keys(profiles);
    const needsRestart = changedSettings(running, settings);
    if (needsRestart.length === 0) {
      logger.info({ file, profiles: names }, 'profiles reloaded');
    } else {
      const facts = { file, profiles: names, needs_restart: needsRestart };
      logger.warn(facts, 'profiles reloaded; other settings that changed need a restart');
    }
  } catch (thrown) {
    const { code, message } = toBridgeError(thrown);
    logger.error({ file, code }, `profiles not reloaded, the old ones stay: ${message}`);
  }
}
