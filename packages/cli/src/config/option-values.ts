/**
 * Values of options from other places than the command line, read as those of flags are.
 */
import type { LowbitKvError } from '@lowbit-kv/core';
import { InvalidArgumentError, type Option } from 'commander';

/** Whether the flag stands alone, without a value. */
export function isSwitch(option: Option): boolean {
  return option.isBoolean() || option.negate;
}

/** Whether its values make a list. */
export function takesSeveral(option: Option): boolean {
  if (option.variadic) return true;
  try {
    // Flags that may be repeated have a reader that collects.
    return Array.isArray(option.parseArg?.('1', undefined));
  } catch {
    return false;
  }
}

/** `given`: texts of a flag, or whether a switch is on. Throws what `failure` makes of what would be valid. */
export function readValue(
  option: Option,
  given: boolean | readonly string[],
  failure: (valid: string) => LowbitKvError,
): unknown {
  if (typeof given === 'boolean') {
    if (!isSwitch(option)) throw failure(`a value of ${option.flags}`);
    // As a flag that is not given.
    return given || option.negate ? given : undefined;
  }
  if (isSwitch(option)) throw failure('true or false');
  if (given.length > 1 && !takesSeveral(option)) throw failure('one value');
  const { parseArg } = option;
  if (parseArg === undefined) return option.variadic ? [...given] : given[0];
  try {
    return given.reduce<unknown>((before, text) => parseArg(text, before), undefined);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw failure(error.message);
    throw error;
  }
}
