/**
 * Evaluates a model under schemes, teacher-forced: window by window the uncut model, f16, then every scheme.
 */
import { F16 } from '../f16-scheme.js';
import type { EvalContext } from './eval-context.js';
import { measuredRow, uncutRateOf } from './eval-row.js';
import type { EvaluateOptions } from './evaluate-options.js';
import { ProgressCounter } from './progress.js';
import { Records } from './records.js';
import type { EvalReport } from './report.js';
import { measureRetrieval, retrievalSection } from './retrieval.js';
import { type RetrievalPrompt, retrievalPrompts } from './retrieval-prompts.js';
import { createSubjects, Subject, UNCUT_ID } from './subject.js';
import { EVAL_THRESHOLDS } from './thresholds.js';
import { WindowRunner } from './window-runner.js';
import { cutWindows, tokensHash, WINDOW_RULE } from './windows.js';

/**
 * Throws OPTION_INVALID for options that do not fit text or model, SCHEME_INVALID, MEASUREMENT_INVALID when f16 is not what the
 * uncut model is, another self-check of the run fails or rows of logits are not those of the window, the signal's reason when it
 * fires, and what model and store throw. A scheme that does not fit is a row with its reason.
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalReport> {
  const { model, text } = options;
  const windows = cutWindows(text.tokens, options, model);
  const prompts =
    options.retrieval === undefined ? null : retrievalPrompts(options.retrieval, model);
  const { f16, others } = createSubjects(options);
  const schemes = others.filter((other) => other instanceof Subject);
  const now = options.now ?? (() => performance.now());
  const context: EvalContext = {
    options,
    records: new Records(options.store),
    progress: new ProgressCounter(
      expectedTokens(options, prompts ?? [], schemes),
      now,
      options.onProgress,
    ),
    now,
  };
  const f16Difference = options.f16Difference ?? EVAL_THRESHOLDS.f16Difference;
  const runner = new WindowRunner(context, f16, schemes, f16Difference);
  try {
    for (const [part, tokens] of windows.entries()) await runner.run(part, tokens);
    if (prompts !== null) await measureRetrieval(context, prompts, f16, schemes);
  } finally {
    await Promise.all([f16, ...schemes].map((subject) => subject.dispose()));
  }
  const { windowTokens } = options;
  const rows = [f16, ...others].map((subject) => {
    if (!(subject instanceof Subject)) return subject;
    return subject.refused ?? measuredRow(subject, f16, windowTokens);
  });
  return {
    reportVersion: 1,
    model: modelSection(options),
    text: { name: text.name, sha256: text.sha256, tokens: text.tokens.length },
    windows: {
      count: windows.length,
      windowTokens,
      stride: windowTokens,
      predictions: windows.length * (windowTokens - 1),
      tokensSha256: tokensHash(windows.flat()),
      description: WINDOW_RULE,
    },
    settings: { ...options.settings },
    command: options.command ?? null,
    thresholds: { ...EVAL_THRESHOLDS, f16Difference },
    uncut: uncutRateOf(f16.windows, windowTokens),
    checks: runner.checks(),
    valid: rows.every(({ verdict }) => verdict.level !== 'invalid'),
    schemes: rows,
    retrieval: prompts === null ? null : retrievalSection(prompts, f16, schemes),
    resumed: { rows: resumedRows([f16, ...schemes]), damaged: context.records.damaged },
  };
}

function modelSection({ model }: EvaluateOptions): EvalReport['model'] {
  const { name, fingerprint, geometry, vocabularySize, contextLimit } = model;
  return { name, fingerprint, layers: geometry.layers, vocabularySize, contextLimit };
}

function resumedRows(subjects: readonly Subject[]): EvalReport['resumed']['rows'] {
  return subjects
    .filter(({ refused, resumed }) => refused === null && resumed.windows + resumed.prompts > 0)
    .map(({ identity: { id }, resumed }) => ({ id, ...resumed }));
}

/** By id of the row. */
function expectedTokens(
  { windows, windowTokens }: EvaluateOptions,
  prompts: readonly RetrievalPrompt[],
  schemes: readonly Subject[],
): [string, number][] {
  const inWindows = windows * windowTokens;
  const inPrompts = (chosen: readonly RetrievalPrompt[]) =>
    chosen.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const withKey = inPrompts(prompts.filter(({ depth }) => depth !== null));
  return [
    [UNCUT_ID, inWindows],
    [F16.id, inWindows + inPrompts(prompts)],
    ...schemes.map(({ identity }): [string, number] => [identity.id, inWindows + withKey]),
  ];
}
