/** The gate of a command: what `--gate` and `--fail-if` say, and the exit code of a report that does not pass. */
import type { GateCondition, GateResult, JudgedReport, ReportKind } from '@lowbit-kv/harness';
import { Option } from 'commander';
import type { Terminal } from './terminal.js';

/** A gate failed: the report is printed, and stderr says what failed. */
export const GATE_FAILED = 3;

export interface GateCommandOptions {
  readonly gate?: boolean;
  readonly failIf?: readonly string[];
}

export function failIfOption(): Option {
  return new Option(
    '--fail-if <condition>',
    'exit with 3 if it holds for a scheme, such as "bits>4"; may be repeated',
  ).argParser((text: string, before: readonly string[] | undefined) => [...(before ?? []), text]);
}

export function gateOption(): Option {
  return new Option('--gate', 'exit with 3 if a scheme is unsafe, or was not measured');
}

/** Judges a report; null when no gate was asked for. */
export type Gate = ((report: JudgedReport) => GateResult) | null;

/** Conditions are read before anything is measured. Throws OPTION_INVALID. */
export async function openGate(options: GateCommandOptions, kind: ReportKind): Promise<Gate> {
  const { gate: builtIn = false, failIf = [] } = options;
  if (!builtIn && failIf.length === 0) return null;
  const { checkGate, parseCondition } = await import('@lowbit-kv/harness');
  const conditions: GateCondition[] = failIf.map((text) => parseCondition(text, kind));
  return (report) => checkGate(report, { builtIn, conditions });
}

/** Says on stderr what failed, and whether all passed. */
export function reportGate(terminal: Terminal, { passed, failures, notes }: GateResult): boolean {
  const { red, green } = terminal.errColors;
  for (const note of notes) terminal.note(`gate: ${note}`);
  for (const { message } of failures) terminal.note(`${red('gate failed')}: ${message}`);
  if (passed) terminal.note(green('gate passed'));
  return passed;
}
