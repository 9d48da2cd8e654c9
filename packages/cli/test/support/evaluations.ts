/** `lowbit-kv eval` over the text of a workspace, and what its reports say. */
import { type EvalMeasuredRow, type EvalReport, evalReportSchema } from '@lowbit-kv/harness';
import { expect } from 'vitest';
import type { HereOptions, HereResult } from './run-here.js';
import type { TinyWorkspace } from './tiny-workspace.js';

export function evaluations({ here }: TinyWorkspace) {
  const evaluated = (args: readonly string[], options: HereOptions = {}): Promise<HereResult> =>
    here('eval', ['--text', 'text.txt', ...args], options);
  /** The report in JSON. */
  async function reported(...args: string[]): Promise<EvalReport> {
    const { code, stdout, stderr } = await evaluated([...args, '--json']);
    expect(code, stderr).toBe(0);
    return evalReportSchema.parse(JSON.parse(stdout));
  }
  return { evaluated, reported };
}

export function windows(count: number, tokens: number): string[] {
  return ['--windows', String(count), '--window', String(tokens)];
}

export function measured({ schemes }: EvalReport, id: string): EvalMeasuredRow {
  const row = schemes.find((one) => one.id === id);
  if (row?.status !== 'measured') throw new Error(`${id} is not measured`);
  return row;
}

export function perplexity(report: EvalReport, id: string): number {
  return measured(report, id).perplexity.value ?? Number.NaN;
}

/** Mean, in nats. */
export function divergence(report: EvalReport, id: string): number {
  return measured(report, id).divergence.mean ?? Number.NaN;
}
