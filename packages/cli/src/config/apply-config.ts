/**
 * Options of a command from the configuration file and the environment, under what the command line says.
 */
import type { EventEmitter } from 'node:events';
import { LowbitKvError } from '@lowbit-kv/core';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import type { Terminal } from '../terminal.js';
import type { ConfigValue } from './config-values.js';
import { invalidSetting, loadConfig } from './load-config.js';

/** Sources of commander's that a flag takes the place of. */
const REPLACED = ['config', 'env'];

export interface ConfigFlags {
  /** A path; false: none. */
  readonly configFile?: string | boolean;
}

/** Where the value of an option came from, beside commander's own words: a setting, or a variable. */
export type Origins = ReadonlyMap<string, string>;

/** Environment variable of an option. */
export function variableOf(option: Option): string {
  const name = option.long?.replace(/^--(no-)?/, '') ?? '';
  return `LOWBIT_KV_${name.replaceAll('-', '_').toUpperCase()}`;
}

/** Before the command line of a command is read. Throws CONFIG_INVALID, and OPTION_INVALID for variables. */
export async function applyConfig(
  command: Command,
  commands: readonly Command[],
  { configFile }: ConfigFlags,
  terminal: Terminal,
): Promise<Origins> {
  const origins = new Map<string, string>();
  const set = (option: Option, value: unknown, source: string, origin: string) => {
    command.setOptionValueWithSource(option.attributeName(), value, source);
    origins.set(option.attributeName(), origin);
  };
  const named = typeof configFile === 'string' ? configFile : undefined;
  const loaded = configFile === false ? undefined : await loadConfig(named, terminal);
  const fromFile =
    loaded === undefined
      ? new Map<string, ConfigValue>()
      : (await import('./config-values.js')).configValues(loaded, command, commands);
  for (const option of command.options) {
    const setting: ConfigValue | undefined = fromFile.get(option.attributeName());
    if (setting !== undefined && loaded !== undefined) {
      const value = read(option, setting.value, (reason) =>
        invalidSetting(loaded.path, setting.name, setting.value, reason),
      );
      set(option, value, 'config', `${setting.name} of ${loaded.path}`);
    }
    const variable = variableOf(option);
    const text = terminal.environment[variable];
    if (text !== undefined && text !== '') {
      const isFlag = option.isBoolean() || option.negate;
      set(
        option,
        read(option, isFlag ? truth(variable, text) : [text], (reason) =>
          wrong(variable, text, reason),
        ),
        'env',
        variable,
      );
    }
    letFlagsWin(command, option, origins);
  }
  return origins;
}

/** As commander would read texts of a flag. */
function read(
  option: Option,
  value: ConfigValue['value'],
  failure: (reason: string) => LowbitKvError,
): unknown {
  const takesValue = !option.isBoolean() && !option.negate;
  if (typeof value === 'boolean') {
    if (takesValue) throw failure(`a value of ${option.flags}`);
    return value;
  }
  if (!takesValue) throw failure('true or false');
  let result: unknown;
  try {
    for (const text of value) {
      result = option.parseArg === undefined ? text : option.parseArg(text, result);
      if (option.parseArg === undefined && option.variadic) result = [...value];
    }
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw failure(error.message);
    throw error;
  }
  if (value.length > 1 && !Array.isArray(result)) throw failure('one value');
  return result;
}

function truth(variable: string, text: string): boolean {
  if (['1', 'true', 'yes'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no'].includes(text.toLowerCase())) return false;
  throw wrong(variable, text, '1, true, yes, 0, false, no');
}

function wrong(variable: string, value: string, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `the environment variable ${variable} is not valid`,
    value,
    valid,
    next: 'Correct it or unset it.',
  });
}

/** A flag takes the place of what was set before, and of what it cannot be used with. */
function letFlagsWin(command: Command, option: Option, origins: Map<string, string>): void {
  const drop = (other: Option) => {
    const name = other.attributeName();
    if (!REPLACED.includes(command.getOptionValueSource(name) ?? '')) return;
    command.setOptionValueWithSource(
      name,
      other.defaultValue,
      other.defaultValue === undefined ? undefined : 'default',
    );
    origins.delete(name);
  };
  (command as unknown as EventEmitter).prependListener(`option:${option.name()}`, () => {
    drop(option);
    for (const other of command.options) {
      if (conflicts(option, other) || conflicts(other, option)) drop(other);
    }
  });
}

/** Commander keeps these to itself. */
function conflicts(option: Option, other: Option): boolean {
  return (option as unknown as { conflictsWith: readonly string[] }).conflictsWith.includes(
    other.attributeName(),
  );
}
