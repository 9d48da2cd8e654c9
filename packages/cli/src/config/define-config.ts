/**
 * What a configuration file exports.
 */
import type { GateBlock, Settings } from './settings.js';

type CommandName =
  | 'backends'
  | 'calibrate'
  | 'diff'
  | 'doctor'
  | 'estimate'
  | 'eval'
  | 'exportOnnx'
  | 'generate'
  | 'inspect'
  | 'merge'
  | 'schemes'
  | 'tune';

/**
 * A configuration: settings for every command that has the option, and blocks for one command, which win over them. Paths are
 * relative to the file.
 */
export type Config = Omit<Settings, 'gate' | 'bench' | 'capture' | 'compare'> & {
  readonly [Command in CommandName]?: Settings;
} & {
  readonly gate?: boolean | GateBlock;
  /** The option, or the block of the command of the same name. */
  readonly bench?: string | readonly string[] | Settings;
  readonly capture?: string | Settings;
  readonly compare?: string | Settings;
};

/** Returns its argument: editors then know the settings. */
export function defineConfig(config: Config): Config {
  return config;
}
