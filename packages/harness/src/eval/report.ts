/**
 * The report of an evaluation: its schema is the one source of the types, of validation and of the JSON Schema.
 *
 * Figures that are not finite are `null`. Windows, layers and heads are numbered from 0; the position of a prediction is the
 * number of tokens before it. Nats unless said otherwise. Everything but rates and `resumed` depends on the inputs only.
 */
import * as z from 'zod';
import { check, count, figure, unmeasurable, verdict } from '../report.js';

const signedFigure = z.number().nullable();

const standardErrors = {
  /** Tokens taken as independent. */
  standardError: figure,
  /** Windows taken as independent, from their means: covers tokens that move together. Null for one window. */
  windowStandardError: figure,
};
const estimate = z.strictObject({ mean: signedFigure, ...standardErrors });
const span = { from: count, to: count };

const thresholds = z.strictObject({
  safeWorstLayer: z.number(),
  safeWorstBucket: z.number(),
  careWorstBucket: z.number(),
  safeDivergenceP99: z.number(),
  careDivergenceP99: z.number(),
  f16Difference: z.number(),
});

const model = z.strictObject({
  name: z.string(),
  fingerprint: z.string(),
  layers: count,
  vocabularySize: count,
  contextLimit: count.nullable(),
});

const text = z.strictObject({ name: z.string(), sha256: z.string(), tokens: count });

const windows = z.strictObject({
  count,
  windowTokens: count,
  /** From the first token of a window to that of the next. */
  stride: count,
  /** Of all windows. */
  predictions: count,
  /** SHA-256 of the tokens of all windows, little-endian u32. */
  tokensSha256: z.string(),
  description: z.string(),
});

/** Wall clock of the model, under a scheme with packing and noise of layers; metrics of logits are left out everywhere. */
const rate = z.strictObject({ seconds: figure, tokensPerSecond: figure });

const bits = z.strictObject({
  /** Per element of keys and values at the end of a window, tokens still in f16 included; mean over windows. */
  stored: figure,
  /** Per element of packed blocks: what a long context tends to. */
  asymptotic: z.number(),
});

const perplexity = z.strictObject({ value: figure, ...standardErrors });

const divergence = z.strictObject({
  ...estimate.shape,
  /** Nearest rank. */
  p99: signedFigure,
  max: z.strictObject({ value: signedFigure, window: count, position: count }),
});

/** Of the probability of the right token, scheme minus f16. */
const probabilityChange = z.strictObject({ ...estimate.shape, rootMeanSquare: figure });

/** Share of positions whose most probable token is that of f16. */
const topAgreement = estimate;

const bucket = z.strictObject({
  /** Positions `from <= position < to`. */
  ...span,
  predictions: count,
  deltaNegativeLog: estimate,
  divergence,
  topAgreement,
  probabilityChange,
});

const nmseOfLayer = z.strictObject({ layer: count, nmse: figure });

const noise = z.strictObject({
  worstKeys: nmseOfLayer,
  worstValues: nmseOfLayer,
  /** Of the attention output; null, as its figures by layer, where attention stays inside the model. */
  worstLayer: nmseOfLayer.nullable(),
  worstHead: z.strictObject({ layer: count, head: count, nmse: figure }).nullable(),
  layers: z.array(
    z.strictObject({
      layer: count,
      keyNmse: figure,
      valueNmse: figure,
      outputNmse: figure,
      headNmse: z.array(figure),
      /** Of the attention output with only the keys, or the values, as stored; null where the model does not tell. */
      keysOnlyNmse: figure,
      valuesOnlyNmse: figure,
    }),
  ),
});

const failingLayer = z.strictObject({
  layer: count,
  /** What the noise of its output comes from; null where the model does not tell. */
  source: z.literal(['keys', 'values', 'keys and values']).nullable(),
  outputNmse: figure,
  keysOnlyNmse: figure,
  valuesOnlyNmse: figure,
  worstHead: z.strictObject({ head: count, nmse: figure }),
});

const measured = z.strictObject({
  status: z.literal('measured'),
  id: z.string(),
  title: z.string(),
  fingerprint: z.string(),
  /** Where an offline calibration comes from. */
  calibration: z.string().nullable(),
  bits,
  perplexity,
  /** Of the negative log-probabilities, scheme minus f16 at the same position: the standard error is the paired one. */
  deltaNegativeLog: estimate,
  /** Perplexity over that of f16. */
  perplexityRatio: perplexity,
  /** KL(f16 || scheme). */
  divergence,
  topAgreement,
  probabilityChange,
  buckets: z.array(bucket),
  /** The one with the largest mean divergence. */
  worstBucket: z.strictObject(span),
  /** Mean divergence over position. */
  curve: z.array(z.strictObject({ ...span, divergence: signedFigure })),
  noise,
  /** Layers beyond the limit of `safe`, worst first. */
  failingLayers: z.array(failingLayer),
  rate: z.strictObject({
    ...rate.shape,
    /** Of the rate of the uncut model on the same windows in the same run. */
    percentOfUncut: figure,
  }),
  checks: z.array(check),
  verdict,
});

const retrieval = z.strictObject({
  question: z.string(),
  /** Log-probabilities are means over the tokens of the answer. */
  prompts: z.array(
    z.strictObject({
      contextTokens: count,
      /** Of the key in the filler, percent. */
      depth: z.number(),
      keyPosition: count,
      answerTokens: count,
      /** Log-probability under f16 when the key is not in the text. */
      withoutKey: signedFigure,
    }),
  ),
  /** f16 first; refused schemes are left out. */
  rows: z.array(
    z.strictObject({
      id: z.string(),
      /** In the order of the prompts. */
      answers: z.array(
        z.strictObject({
          logProbability: signedFigure,
          /** Scheme minus f16. */
          change: signedFigure,
        }),
      ),
    }),
  ),
});

/** The zod schema of a report. */
export const evalReportSchema = z.strictObject({
  reportVersion: z.literal(1),
  model,
  text,
  windows,
  /** What else the figures depend on, as the caller says. */
  settings: z.record(z.string(), z.string()),
  command: z.string().nullable(),
  thresholds,
  uncut: rate,
  /** Self-checks of the whole run; a failed one of them is thrown, so these passed. */
  checks: z.array(check),
  /** False when a self-check of a row failed. */
  valid: z.boolean(),
  /** f16 first, then the schemes in the order they were given. */
  schemes: z.array(z.discriminatedUnion('status', [measured, unmeasurable])),
  retrieval: retrieval.nullable(),
  /** Rows that the store spared windows or retrieval prompts, and what in it was damaged and measured again. */
  resumed: z.strictObject({
    rows: z.array(z.strictObject({ id: z.string(), windows: count, prompts: count })),
    damaged: z.array(z.strictObject({ key: z.string(), reason: z.string() })),
  }),
});

export type EvalReport = z.infer<typeof evalReportSchema>;
export type EvalRow = EvalReport['schemes'][number];
export type EvalMeasuredRow = z.infer<typeof measured>;
export type EvalBucket = z.infer<typeof bucket>;
export type EvalNoise = z.infer<typeof noise>;
export type EvalRetrieval = z.infer<typeof retrieval>;
export type EvalThresholds = z.infer<typeof thresholds>;
export type FailingLayer = z.infer<typeof failingLayer>;

/** JSON Schema (draft 2020-12) of a report. */
export function evalReportJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(evalReportSchema) as Record<string, unknown>;
}
