/** What an evaluation is about, before anything is measured, and the units of work that it falls into. */
import * as z from 'zod';
import { F16 } from '../f16-scheme.js';
import { count } from '../report.js';
import type { WorkGroup } from '../work/partition.js';
import { F16_COST, schemeCost } from '../work/scheme-cost.js';
import type { EvaluateOptions } from './evaluate-options.js';
import { evalReportSchema } from './report.js';
import type { RetrievalPrompt } from './retrieval-prompts.js';
import { identityOf } from './subject.js';
import { EVAL_THRESHOLDS } from './thresholds.js';
import { figureShape } from './window-figures.js';
import { tokensHash, WINDOW_RULE } from './windows.js';

const { model, text, windows, settings, thresholds } = evalReportSchema.shape;

const prompt = z.strictObject({
  /** As asked for. */
  context: count,
  depth: z.number().nullable(),
  keyPosition: count.nullable(),
  tokens: count,
  answerTokens: count,
});

export const evalWorkSchema = z.strictObject({
  model,
  text,
  windows,
  settings,
  thresholds,
  /** Query heads whose noise is noted, by layer. */
  notedHeads: z.array(count),
  retrieval: z.strictObject({ tokensSha256: z.string(), prompts: z.array(prompt) }).nullable(),
  /** After f16, in the order of the report. */
  schemes: z.array(
    z.strictObject({ id: z.string(), title: z.string(), fingerprint: z.string(), cost: count }),
  ),
});

export type EvalWork = z.infer<typeof evalWorkSchema>;
export type PromptFacts = z.infer<typeof prompt>;

export function evalWork(
  options: EvaluateOptions,
  windows: readonly (readonly number[])[],
  prompts: readonly RetrievalPrompt[] | null,
): EvalWork {
  const { text, windowTokens, schemes } = options;
  const { name, fingerprint, geometry, vocabularySize, contextLimit } = options.model;
  return {
    model: { name, fingerprint, layers: geometry.layers, vocabularySize, contextLimit },
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
    thresholds: {
      ...EVAL_THRESHOLDS,
      f16Difference: options.f16Difference ?? EVAL_THRESHOLDS.f16Difference,
    },
    notedHeads: [...figureShape(options.model, windowTokens).heads],
    retrieval: prompts && {
      tokensSha256: tokensHash(prompts.flatMap(({ tokens }) => tokens)),
      prompts: prompts.map(({ tokens, ...facts }) => ({ ...facts, tokens: tokens.length })),
    },
    schemes: schemes.map((scheme) => ({ ...identityOf(scheme), cost: schemeCost(scheme) })),
  };
}

export function windowUnit(window: number, id: string): string {
  return `window ${window}: ${id}`;
}

export function promptUnit(prompt: number, id: string): string {
  return `prompt ${prompt}: ${id}`;
}

/** Of one row, in the order in which they are measured. */
export function unitsOfRow({ windows, retrieval }: EvalWork, id: string): string[] {
  const prompts = (retrieval?.prompts ?? []).flatMap(({ depth }, prompt) =>
    depth === null && id !== F16.id ? [] : [promptUnit(prompt, id)],
  );
  const ofWindows = Array.from({ length: windows.count }, (_, window) => windowUnit(window, id));
  return [...ofWindows, ...prompts];
}

/** The uncut model and f16 of a window are what its schemes are measured against; answers stand alone. */
export function evalGroups({ windows, retrieval, schemes }: EvalWork): WorkGroup[] {
  const { count: windowCount, windowTokens } = windows;
  const ofWindows = Array.from({ length: windowCount }, (_, window) => ({
    setup: windowTokens * (UNCUT_COST + F16_COST),
    baseline: windowUnit(window, F16.id),
    units: schemes.map(({ id, cost }) => ({
      name: windowUnit(window, id),
      cost: windowTokens * cost,
    })),
  }));
  const ofPrompts = (retrieval?.prompts ?? []).map(({ depth, tokens }, i) => ({
    setup: 0,
    baseline: null,
    units: [{ id: F16.id, cost: F16_COST }, ...(depth === null ? [] : schemes)].map(
      ({ id, cost }) => ({ name: promptUnit(i, id), cost: tokens * cost }),
    ),
  }));
  return [...ofWindows, ...ofPrompts];
}

/** Of the model itself, which runs at about twice the rate of f16. */
const UNCUT_COST = F16_COST / 2;
