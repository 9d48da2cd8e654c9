/**
 * The settings of a configuration that a command takes: checked, and as texts that its flags would be given.
 */
import { dirname, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Command, Option } from 'commander';
import { nearest } from '../edit-distance.js';
import { invalidSetting, type LoadedConfig } from './load-config.js';
import { blockName, gateBlock, settings } from './settings.js';

/** What the configuration says of an option. */
export interface ConfigValue {
  /** As in the file: `eval.windows`. */
  readonly name: string;
  /** Texts of a flag, or whether one without a value is given. */
  readonly value: boolean | readonly string[];
}

/** By the attribute of the option. Throws CONFIG_INVALID for what no command has, or of the wrong kind. */
export function configValues(
  { path, content }: LoadedConfig,
  command: Command,
  commands: readonly Command[],
): ReadonlyMap<string, ConfigValue> {
  const blocks = new Map(commands.map((one) => [blockName(one.name()), one]));
  const values = new Map<string, ConfigValue>();
  const options = optionsOf(command);
  const take = (key: string, name: string, value: unknown) => {
    const option = options.get(key);
    if (option !== undefined)
      values.set(key, {
        name,
        value: textsOf(option, check(path, name, key, value), dirname(path)),
      });
  };
  for (const [key, value] of Object.entries(content)) {
    if (key === 'gate' && isBlock(value)) {
      for (const [inner, setting] of Object.entries(checkGate(path, value))) {
        if (setting !== undefined)
          take(inner === 'builtIn' ? 'gate' : inner, `gate.${inner}`, setting);
      }
      continue;
    }
    if (blocks.has(key) && isBlock(value)) continue;
    if (!Object.hasOwn(settings.shape, key))
      throw unknown(path, key, [
        ...Object.keys(settings.shape),
        ...(isBlock(value) ? blocks.keys() : []),
      ]);
    take(key, key, value);
  }
  for (const [name, owner] of blocks) {
    const block = content[name];
    if (!isBlock(block)) continue;
    const known = optionsOf(owner);
    for (const [key, value] of Object.entries(block)) {
      if (!known.has(key)) throw unknown(path, `${name}.${key}`, [...known.keys()], key);
      check(path, `${name}.${key}`, key, value);
      if (owner === command) take(key, `${name}.${key}`, value);
    }
  }
  return values;
}

/** By attribute, without those of every program. */
export function optionsOf(command: Command): ReadonlyMap<string, Option> {
  return new Map(command.options.map((option) => [option.attributeName(), option]));
}

function isBlock(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function check(file: string, name: string, key: string, value: unknown): unknown {
  const { success, error, data } =
    settings.shape[key as keyof typeof settings.shape].safeParse(value);
  if (success) return data;
  throw invalidSetting(file, name, value, error.issues.map(({ message }) => message).join('; '));
}

function checkGate(file: string, block: Record<string, unknown>) {
  const { success, error, data } = gateBlock.safeParse(block);
  if (success) return data;
  const extra = Object.keys(block).find((key) => !Object.hasOwn(gateBlock.shape, key));
  if (extra !== undefined)
    throw unknown(file, `gate.${extra}`, Object.keys(gateBlock.shape), extra);
  throw invalidSetting(file, 'gate', block, error.issues.map(({ message }) => message).join('; '));
}

/** Paths in a file are relative to it. */
const PATH = /[<[](file|folder|directory)(\.\.\.)?[>\]]/;
/** These may be names too. */
const PATH_OR_NAME = /[<[](model|scheme|json)(\.\.\.)?[>\]]/;

function textsOf(option: Option, value: unknown, folder: string): ConfigValue['value'] {
  if (typeof value === 'boolean') return value;
  const isPath = PATH.test(option.flags);
  const mayBePath = isPath || PATH_OR_NAME.test(option.flags);
  return (Array.isArray(value) ? value : [value]).map((one: unknown) => {
    if (typeof one !== 'string') return typeof one === 'object' ? JSON.stringify(one) : String(one);
    return isPath || (mayBePath && /^\.{1,2}[/\\]/.test(one)) ? resolve(folder, one) : one;
  });
}

function unknown(file: string, name: string, valid: readonly string[], key = name): LowbitKvError {
  const near = nearest(key, [...valid]);
  return new LowbitKvError('CONFIG_INVALID', {
    message: 'the configuration has a setting that there is not',
    value: name,
    valid: [...valid].sort(),
    next: near === undefined ? 'Remove it.' : `Did you mean "${near}"?`,
    where: { file },
  });
}
