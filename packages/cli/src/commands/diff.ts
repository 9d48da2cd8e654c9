/** `lowbit-kv diff`: what changed between two reports of `compare --json`, or of `eval --json`. */
import { resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import {
  checkDiffGate,
  differenceText,
  diffReports,
  formatDiff,
  type JudgedReport,
  parseChangeCondition,
  parseReport,
  type ReportDiff,
} from '@lowbit-kv/harness';
import { GATE_FAILED, reportGate } from '../gate-option.js';
import { readReport } from '../read-report.js';
import { reportError } from '../report-error.js';
import type { Terminal } from '../terminal.js';

export interface DiffCommandOptions {
  readonly failIf?: readonly string[];
  readonly allowDifferentData?: boolean;
  readonly json?: boolean;
}

/** Reports of different data: as a wrong command line. */
const DIFFERENT_DATA = 2;

export async function diff(
  terminal: Terminal,
  options: DiffCommandOptions,
  before: string,
  after: string,
): Promise<number> {
  const files = [before, after].map((file) => resolve(terminal.directory, file));
  const [first, second] = await Promise.all(files.map((file) => readReport(file, parseReport)));
  const difference = diffReports(first as JudgedReport, second as JudgedReport);
  const conditions = (options.failIf ?? []).map((text) =>
    parseChangeCondition(text, difference.kind),
  );
  if (difference.differences.data.length > 0 && options.allowDifferentData !== true) {
    reportError(terminal, differentData(difference));
    return DIFFERENT_DATA;
  }
  if (options.json === true) terminal.print(JSON.stringify(difference, null, 2));
  else terminal.print(formatDiff(difference));
  if (conditions.length === 0) return 0;
  return reportGate(terminal, checkDiffGate(difference, conditions)) ? 0 : GATE_FAILED;
}

function differentData({ differences }: ReportDiff): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'the reports are of different data',
    value: differences.data.map(differenceText),
    valid: 'two reports of the same model or capture, text, windows and settings',
    next: 'Measure both on the same data, or see both with --allow-different-data.',
  });
}
