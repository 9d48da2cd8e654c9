/**
 * Evaluates a model under schemes, teacher-forced: window by window the uncut model, f16, then every scheme.
 */
import { evalReport } from './eval-report.js';
import type { EvaluateOptions } from './evaluate-options.js';
import { Evaluation } from './evaluation.js';
import type { EvalReport } from './report.js';
import { resultOf } from './subject.js';

/**
 * Throws OPTION_INVALID for options that do not fit text or model, SCHEME_INVALID, MEASUREMENT_INVALID when f16 is not what the
 * uncut model is, another self-check of the run fails or rows of logits are not those of the window, the signal's reason when it
 * fires, and what model and store throw. A scheme that does not fit is a row with its reason.
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalReport> {
  const evaluation = new Evaluation(options);
  const { f16, others, damaged } = await evaluation.measure();
  const results = { f16, others: others.map(resultOf), damaged };
  return evalReport(evaluation.work, results, options.command);
}
