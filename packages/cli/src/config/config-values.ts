/**
 * The settings of a configuration that a command takes: checked, and as texts that its flags would be given.
 */
import { dirname, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Command, Option } from 'commander';
import { nearest } from '../edit-distance.js';
import { looksLikePath } from '../schemes/resolve-schemes.js';
import { invalidSetting, type LoadedConfig } from './load-config.js';
import { takesSeveral } from './option-values.js';
import { blockName, gateBlock, settings } from './settings.js';

/** What the configuration says of an option. */
export interface ConfigValue {
  /** As in the file: `eval.windows`. */
  readonly name: string;
  /** Texts of a flag, or whether one without a value is given. */
  readonly value: boolean | readonly string[];
}

/** By the attribute of the option. */
export type ConfigValues = ReadonlyMap<string, ConfigValue>;

interface Setting {
  /** Attribute of the option. */
  readonly key: string;
  readonly name: string;
  readonly value: unknown;
  readonly isOfGate: boolean;
}

type Block = Readonly<Record<string, unknown>>;

/**
 * What stands in the file for every command, and in the block of this one. Throws CONFIG_INVALID for what no command has, or of
 * the wrong kind, in the blocks of other commands too.
 */
export function configValues(
  { path, content }: LoadedConfig,
  command: Command,
  commands: readonly Command[],
): { readonly shared: ConfigValues; readonly own: ConfigValues } {
  const owners = new Map(commands.map((one) => [blockName(one.name()), one]));
  const isOfOneCommand = (key: string) => owners.has(key) && isBlock(content[key]);
  const everywhere = Object.fromEntries(
    Object.entries(content).filter(([key]) => !isOfOneCommand(key)),
  );
  const shared = settingsOf(path, everywhere, '', Object.keys(settings.shape), [...owners.keys()]);
  const taken = shared.filter((setting) => isForAll(command, setting));
  const own: Setting[] = [];
  for (const [name, owner] of owners) {
    const block = content[name];
    if (!isBlock(block)) continue;
    const found = settingsOf(path, block, `${name}.`, [...optionsOf(owner).keys()]);
    if (owner === command) own.push(...found);
  }
  return { shared: valuesFor(command, path, taken), own: valuesFor(command, path, own) };
}

/** By attribute. */
function optionsOf(command: Command): ReadonlyMap<string, Option> {
  return new Map(command.options.map((option) => [option.attributeName(), option]));
}

function settingsOf(
  file: string,
  block: Block,
  prefix: string,
  known: readonly string[],
  blocks: readonly string[] = [],
): Setting[] {
  return Object.entries(block).flatMap(([key, value]) => {
    const name = prefix + key;
    if (!known.includes(key))
      throw unknown(file, name, isBlock(value) ? [...known, ...blocks] : known, key);
    if (key === 'gate' && isBlock(value)) return gateSettings(file, value, name);
    const { success, error } = settings.shape[key as keyof typeof settings.shape].safeParse(value);
    if (success) return [{ key, name, value, isOfGate: false }];
    const valid = error.issues.map(({ message }) => message).join('; ');
    throw invalidSetting(file, name, value, valid);
  });
}

function gateSettings(file: string, block: Block, name: string): Setting[] {
  const known = Object.keys(gateBlock.shape);
  const extra = Object.keys(block).find((key) => !known.includes(key));
  if (extra !== undefined) throw unknown(file, `${name}.${extra}`, known, extra);
  const { success, error, data } = gateBlock.safeParse(block);
  if (!success)
    throw invalidSetting(file, name, block, error.issues.map(({ message }) => message).join('; '));
  const { builtIn, failIf } = data;
  const setting = (key: string, inner: string, value: unknown) =>
    value === undefined ? [] : [{ key, name: `${name}.${inner}`, value, isOfGate: true }];
  return [...setting('gate', 'builtIn', builtIn), ...setting('failIf', 'failIf', failIf)];
}

/**
 * What stands for every command is for those that can take it: a list for options that take several, a gate for commands that
 * have one, `out` for those that write a folder of reports.
 */
function isForAll(command: Command, { key, value, isOfGate }: Setting): boolean {
  const options = optionsOf(command);
  const option = options.get(key);
  if (option === undefined || (isOfGate && !options.has('gate'))) return false;
  if (key === 'out' && !option.flags.includes('<folder>')) return false;
  return !Array.isArray(value) || takesSeveral(option);
}

function valuesFor(command: Command, file: string, found: readonly Setting[]): ConfigValues {
  const options = optionsOf(command);
  const values = new Map<string, ConfigValue>();
  for (const { key, name, value } of found) {
    const other = values.get(key);
    if (other !== undefined) throw invalidSetting(file, name, value, `it or ${other.name}`);
    const texts = textsOf(options.get(key) as Option, { file, name, value });
    values.set(key, { name, value: texts });
  }
  return values;
}

function isBlock(value: unknown): value is Block {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Found {
  readonly file: string;
  readonly name: string;
  readonly value: unknown;
}

function textsOf(option: Option, { file, name, value }: Found): ConfigValue['value'] {
  if (typeof value === 'boolean') return value;
  return (Array.isArray(value) ? value : [value]).map((one: unknown) => {
    if (typeof one === 'object') return jsonOf(one, file, name);
    const text = String(one);
    return typeof one === 'string' && isPath(option, text) ? resolve(dirname(file), text) : text;
  });
}

/** Throws CONFIG_INVALID for an object that no text can hold: one in itself, or of too many levels. */
function jsonOf(value: object | null, file: string, name: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalidSetting(file, name, String(error), 'an object of a few levels, none in itself');
  }
}

/** Paths in a file are relative to it; models and schemes may be names too. */
function isPath({ flags }: Option, text: string): boolean {
  if (/<(file|folder|directory|path)(\.{3})?>/.test(flags)) return true;
  if (flags.includes('<json>')) return !text.trimStart().startsWith('{');
  if (flags.includes('<scheme')) return looksLikePath(text);
  return flags.includes('<model>') && /^\.{1,2}([/\\]|$)/.test(text);
}

function unknown(file: string, name: string, valid: readonly string[], key: string): LowbitKvError {
  const near = nearest(key, valid);
  return new LowbitKvError('CONFIG_INVALID', {
    message: 'the configuration has a setting that there is not',
    value: name,
    valid: [...valid].sort(),
    next: near === undefined ? 'Remove it.' : `Did you mean "${near}"?`,
    where: { file },
  });
}
