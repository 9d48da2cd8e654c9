/**
 * What a configuration file exports.
 */
import type { Settings } from './settings.js';

/** Blocks of commands that have options. */
export const COMMAND_BLOCKS = [
  'backends',
  'bench',
  'calibrate',
  'capture',
  'compare',
  'diff',
  'doctor',
  'estimate',
  'eval',
  'exportOnnx',
  'generate',
  'inspect',
  'merge',
  'schemes',
  'tune',
] as const;

/** Commands that are named as an option of another. */
type Ambiguous = 'bench' | 'capture' | 'compare';

/**
 * A configuration: settings for every command that can take them, and blocks for one command, which win over them. Paths are
 * relative to the file.
 */
export type Config = Omit<Settings, Ambiguous> & {
  readonly [Command in Exclude<(typeof COMMAND_BLOCKS)[number], Ambiguous>]?: Settings;
} & {
  /** The option, or the block of the command of the same name. */
  readonly [Name in Ambiguous]?: string | readonly string[] | Settings;
};

/** Returns its argument: editors then know the settings. */
export function defineConfig(config: Config): Config {
  return config;
}
