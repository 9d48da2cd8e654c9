/** What commands do with a report: print it, write its files, judge it. */
import { F16, formatEvalReport, formatReport, type JudgedReport } from '@lowbit-kv/harness';
import { type AnyReport, isComparison } from '@lowbit-kv/report';
import { colorVerdicts } from './color-verdicts.js';
import { GATE_FAILED, type Gate, reportGate } from './gate-option.js';
import type { Terminal } from './terminal.js';

export interface PrintOptions {
  readonly json?: boolean;
  readonly markdown?: boolean;
}

/** Printed before `writeFiles`: minutes of work must not end with a full disk. Returns the exit code. */
export async function endWithReport(
  terminal: Terminal,
  report: AnyReport,
  options: PrintOptions,
  gate: Gate,
  writeFiles: () => Promise<void>,
): Promise<number> {
  terminal.clearStatus();
  printReport(terminal, report, options);
  await writeFiles();
  const measured = isMeasured(report);
  if (!report.valid) terminal.note('A self-check failed: see the verdicts.');
  if (!measured) terminal.note('No scheme could be measured: see the verdicts.');
  if (gate !== null && !reportGate(terminal, gate(report))) return GATE_FAILED;
  return report.valid && measured ? 0 : 1;
}

/** Whether any scheme has figures, where there is one beside f16. */
function isMeasured({ schemes }: JudgedReport): boolean {
  const others = schemes.filter(({ id }) => id !== F16.id);
  const has = ({ status }: (typeof others)[number]) =>
    status === 'measured' || status === 'simulated';
  return others.length === 0 || others.some(has);
}

function printReport(terminal: Terminal, report: AnyReport, { json, markdown }: PrintOptions) {
  if (json === true) {
    terminal.print(JSON.stringify(report, null, 2));
    return;
  }
  const text = (style: 'text' | 'markdown') =>
    isComparison(report) ? formatReport(report, style) : formatEvalReport(report, style);
  if (markdown === true) terminal.print(text('markdown'));
  else terminal.print(colorVerdicts(text('text'), terminal.outColors));
}
