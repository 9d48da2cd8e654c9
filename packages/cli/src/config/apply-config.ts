/**
 * Options of a command from the configuration file and the environment, under what the command line says.
 */
import type { EventEmitter } from 'node:events';
import type { LowbitKvError } from '@lowbit-kv/core';
import type { Command, Option } from 'commander';
import { LOG_LEVELS, LOG_VARIABLE, logLevelOf } from '../log-level.js';
import type { Terminal } from '../terminal.js';
import type { ConfigValues } from './config-values.js';
import { invalidSetting, type LoadedConfig, loadConfig } from './load-config.js';
import { isSwitch, readValue, takesSeveral } from './option-values.js';
import {
  invalidVariable,
  type UnknownVariable,
  unknownVariables,
  unknownVariableText,
  variableOf,
} from './variables.js';

/** Sources, in commander's words, that a flag takes the place of. */
const REPLACED = ['config', 'env'];

export interface ConfigFlags {
  /** A path; false: none. */
  readonly configFile?: string | boolean;
}

/** Where values came from. */
export interface Sources {
  /** Of options, beside commander's own words: a setting, or a variable. */
  readonly origins: ReadonlyMap<string, string>;
  /** They have changed nothing. */
  readonly unknown: readonly UnknownVariable[];
}

/** The value of an option from one place, which others may take the place of. */
interface Given {
  readonly option: Option;
  readonly value: unknown;
  /** For people. */
  readonly origin: string;
  /** Why it cannot stand beside another of the same place. */
  readonly clash: (other: Given) => LowbitKvError;
}

/** Before the command line of a command is read. Throws CONFIG_INVALID, and OPTION_INVALID for variables. */
export async function applyConfig(
  command: Command,
  commands: readonly Command[],
  { configFile }: ConfigFlags,
  terminal: Terminal,
): Promise<Sources> {
  const origins = new Map<string, string>();
  // Completion runs whenever a shell starts, in any folder.
  if (command.options.length === 0) return { origins, unknown: [] };
  if (logLevelOf(terminal) === null)
    throw invalidVariable(LOG_VARIABLE, terminal.environment[LOG_VARIABLE] ?? '', LOG_LEVELS);
  const unknown = await unknownVariables(commands, terminal);
  for (const variable of unknown)
    terminal.note(`${terminal.errColors.yellow('warning')}: ${unknownVariableText(variable)}`);
  const named = typeof configFile === 'string' ? configFile : undefined;
  const file = configFile === false ? undefined : await loadConfig(named, terminal);
  if (file !== undefined) {
    const { configValues } = await import('./config-values.js');
    const { shared, own } = configValues(file, command, commands);
    put(command, 'config', fromFile(command, file, shared), origins);
    put(command, 'config', fromFile(command, file, own), origins);
  }
  put(command, 'env', fromVariables(command, terminal), origins);
  for (const option of command.options) {
    (command as unknown as EventEmitter).prependListener(`option:${option.name()}`, () =>
      makeWay(command, option, origins),
    );
  }
  return { origins, unknown };
}

function fromFile(command: Command, { path }: LoadedConfig, values: ConfigValues): Given[] {
  return command.options.flatMap((option) => {
    const setting = values.get(option.attributeName());
    if (setting === undefined) return [];
    const { name } = setting;
    const invalid = (valid: string) => invalidSetting(path, name, setting.value, valid);
    return [
      {
        option,
        value: readValue(option, setting.value, invalid),
        origin: `${name} of ${path}`,
        clash: (other) => invalid(`it or ${other.origin}, not both`),
      },
    ];
  });
}

function fromVariables(command: Command, { environment }: Terminal): Given[] {
  return command.options.flatMap((option) => {
    const variable = variableOf(option);
    const text = environment[variable] ?? '';
    if (text === '') return [];
    const invalid = (valid: string) => invalidVariable(variable, text, valid);
    const given = isSwitch(option)
      ? truth(text, invalid)
      : takesSeveral(option)
        ? text.split(',').map((one) => one.trim())
        : [text];
    return [
      {
        option,
        value: readValue(option, given, invalid),
        origin: variable,
        clash: (other) => invalid(`it or ${other.origin}, not both`),
      },
    ];
  });
}

function truth(text: string, failure: (valid: string) => LowbitKvError): boolean {
  if (['1', 'true', 'yes'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no'].includes(text.toLowerCase())) return false;
  throw failure('1, true, yes, 0, false, no');
}

/** Values of one place, over those of the places before. */
function put(
  command: Command,
  source: string,
  given: readonly Given[],
  origins: Map<string, string>,
): void {
  const isSet = ({ value }: Given) => value !== undefined;
  for (const [i, one] of given.filter(isSet).entries()) {
    const other = given.filter(isSet).find((two, j) => j < i && conflicts(one.option, two.option));
    if (other !== undefined) throw one.clash(other);
  }
  for (const one of given) {
    if (isSet(one)) makeWay(command, one.option, origins);
    command.setOptionValueWithSource(one.option.attributeName(), one.value, source);
    origins.set(one.option.attributeName(), one.origin);
  }
}

/** Takes back what was set before, of the option and of those it cannot be used with. */
function makeWay(command: Command, option: Option, origins: Map<string, string>): void {
  for (const other of command.options) {
    const name = other.attributeName();
    const isSame = name === option.attributeName();
    if (!isSame && !conflicts(option, other)) continue;
    if (!REPLACED.includes(command.getOptionValueSource(name) ?? '')) continue;
    const source = other.defaultValue === undefined ? undefined : 'default';
    command.setOptionValueWithSource(name, other.defaultValue, source);
    origins.delete(name);
  }
}

function conflicts(a: Option, b: Option): boolean {
  return refuses(a, b) || refuses(b, a);
}

/** Commander keeps these to itself. */
function refuses(option: Option, other: Option): boolean {
  return (option as unknown as { conflictsWith: readonly string[] }).conflictsWith.includes(
    other.attributeName(),
  );
}
