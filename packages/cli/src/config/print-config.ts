/**
 * `--print-config`: the options that a command would run with, and where each came from.
 */
import type { Command } from 'commander';
import type { Terminal } from '../terminal.js';
import { textTable } from '../text-table.js';
import type { Sources } from './apply-config.js';
import { unknownVariableText } from './variables.js';

export interface EffectiveOption {
  readonly value: unknown;
  readonly source: string;
}

export function effectiveOptions(
  command: Command,
  { origins }: Pick<Sources, 'origins'>,
): Record<string, EffectiveOption> {
  const names = [...new Set(command.options.map((option) => option.attributeName()))].sort();
  return Object.fromEntries(
    names.map((name) => {
      const source = command.getOptionValueSource(name);
      const words = source === 'cli' ? 'flag' : (source ?? 'not set');
      return [
        name,
        { value: command.getOptionValue(name) ?? null, source: origins.get(name) ?? words },
      ];
    }),
  );
}

/** As JSON where the command would print JSON. */
export function printConfig(terminal: Terminal, command: Command, sources: Sources): void {
  const options = effectiveOptions(command, sources);
  const { unknown } = sources;
  if (command.getOptionValue('json') === true) {
    terminal.print(
      JSON.stringify({ command: command.name(), options, unknownVariables: unknown }, null, 2),
    );
    return;
  }
  const rows = Object.entries(options).map(([name, { value, source }]) => [
    name,
    value === null ? '-' : JSON.stringify(value),
    source,
  ]);
  const lines = textTable([{ title: 'option' }, { title: 'value' }, { title: 'from' }], rows);
  for (const line of lines) terminal.print(line);
  if (unknown.length > 0) terminal.print('');
  for (const variable of unknown) terminal.print(unknownVariableText(variable));
}
