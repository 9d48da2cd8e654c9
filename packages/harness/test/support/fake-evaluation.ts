/** Evaluations of the fake model with small windows, and the rows of their reports. */
import {
  type EvalMeasuredRow,
  type EvalReport,
  type EvaluatedModel,
  type EvaluateOptions,
  evaluate,
} from '../../src/index.js';
import { fakeModel, fakeTokens } from './fake-model.js';
import { channelwise } from './schemes.js';

/** Keys pack 32 tokens at once, so that the last predictions of a window see packed keys and values. */
export const WINDOW_TOKENS = 80;
export const FOUR = channelwise('four', 4);
export const TWO = channelwise('two', 2);

export function fakeOptions(
  model: EvaluatedModel = fakeModel(),
  more: Partial<EvaluateOptions> = {},
): EvaluateOptions {
  const tokens = fakeTokens(300, model.vocabularySize);
  return {
    model,
    text: { name: 'text', sha256: 'a'.repeat(64), tokens },
    schemes: [FOUR, TWO],
    windows: 3,
    windowTokens: WINDOW_TOKENS,
    ...more,
  };
}

export function evaluateFake(
  model?: EvaluatedModel,
  more?: Partial<EvaluateOptions>,
): Promise<EvalReport> {
  return evaluate(fakeOptions(model, more));
}

export function evalRow(report: EvalReport, id: string): EvalMeasuredRow {
  const row = report.schemes.find((candidate) => candidate.id === id);
  if (row?.status !== 'measured') throw new Error(`${id}: ${row?.verdict.reason ?? 'no such row'}`);
  return row;
}
