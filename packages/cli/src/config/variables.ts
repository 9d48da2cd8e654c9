/**
 * Environment variables of the command: those of options, a few more, and those that look like one and are none.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Command, Option } from 'commander';
import { LOG_VARIABLE } from '../log-level.js';
import type { Terminal } from '../terminal.js';

const PREFIX = 'LOWBIT_KV_';

export const CONFIG_FILE_VARIABLE = `${PREFIX}CONFIG_FILE`;

/** Of the tests and tools of this repository, which may stand beside ours. */
const OF_TESTS = [
  'CALLS',
  'EVERY_CALL',
  'FUZZ_SEED',
  'GPU',
  'KILLS',
  'MODEL',
  'NVRTC',
  'PROPERTY_RUNS',
  'SCREENSHOTS',
  'SEED',
  'TEST_REPORT',
  'TEXT',
  'WHOLE_CONTRACT',
].map((name) => PREFIX + name);

/** A variable that no option has. */
export interface UnknownVariable {
  readonly name: string;
  /** The one that may be meant. */
  readonly near: string | null;
}

/** Environment variable of an option. */
export function variableOf(option: Option): string {
  const name = option.long?.replace(/^--(no-)?/, '') ?? '';
  return PREFIX + name.replaceAll('-', '_').toUpperCase();
}

export function invalidVariable(
  name: string,
  value: string,
  valid: string | readonly string[],
): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `the environment variable ${name} is not valid`,
    value,
    valid,
    next: 'Correct it or unset it.',
  });
}

/**
 * Variables with our prefix, in any case, that no command takes. They are no error: another version may know them. Systems whose
 * names have no case give the value under the name in capitals too.
 */
export async function unknownVariables(
  commands: readonly Command[],
  { environment }: Pick<Terminal, 'environment'>,
): Promise<UnknownVariable[]> {
  const ofUsers = [
    ...new Set([
      ...commands.flatMap(({ options }) => options.map(variableOf)),
      ...[CONFIG_FILE_VARIABLE, LOG_VARIABLE],
    ]),
  ];
  const known = new Set([...ofUsers, ...OF_TESTS]);
  const isTaken = (name: string) =>
    known.has(name.toUpperCase()) && environment[name.toUpperCase()] === environment[name];
  const names = Object.keys(environment).filter(
    (name) =>
      name.toUpperCase().startsWith(PREFIX) && (environment[name] ?? '') !== '' && !isTaken(name),
  );
  if (names.length === 0) return [];
  const { nearest } = await import('../edit-distance.js');
  const bare = (name: string) => name.slice(PREFIX.length).toUpperCase();
  return names.sort().map((name) => {
    const near = nearest(bare(name), ofUsers.map(bare));
    return { name, near: near === undefined ? null : PREFIX + near };
  });
}

/** A line for people. */
export function unknownVariableText({ name, near }: UnknownVariable): string {
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  return `the environment variable ${name} is that of no option and changes nothing.${meant}`;
}
