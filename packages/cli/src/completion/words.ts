/**
 * What a shell can complete: the commands, their options, and the values that are known.
 */
import type { Command, Option } from 'commander';

export interface OptionWords {
  /** `--scheme`, and the short form where there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** More values may follow the first. */
  readonly isVariadic: boolean;
  /** Values that are known; files otherwise. */
  readonly values: readonly string[];
}

export interface CommandWords {
  readonly name: string;
  readonly description: string;
  /** Its own, and those of the program that it takes too. */
  readonly options: readonly OptionWords[];
  /** Of its arguments, where they are known; files otherwise. */
  readonly values: readonly string[];
}

export interface ShellWords {
  readonly program: string;
  readonly options: readonly OptionWords[];
  readonly commands: readonly CommandWords[];
}

export function shellWords(program: Command, schemes: readonly string[]): ShellWords {
  return {
    program: program.name(),
    options: wordsOf(program, schemes),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      options: [
        ...wordsOf(command, schemes),
        ...program.options
          .filter(({ long }) => long !== '--version')
          .map((option) => optionWords(option, schemes)),
      ],
      values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    })),
  };
}

function wordsOf(command: Command, schemes: readonly string[]): OptionWords[] {
  return [
    ...command.options.map((option) => optionWords(option, schemes)),
    { flags: ['-h', '--help'], description: 'show this help', ...NO_VALUE },
  ];
}

const NO_VALUE = { takesValue: false, isVariadic: false, values: [] } as const;

function optionWords(option: Option, schemes: readonly string[]): OptionWords {
  const { short, long, description, required, optional, variadic } = option;
  const isScheme = /<scheme(\.\.\.)?>/.test(option.flags);
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    takesValue: required || optional,
    isVariadic: variadic,
    values: isScheme ? schemes : (option.argChoices ?? []),
  };
}
