/** The figures of an evaluation that gates and diffs can name. Rates are left out: they are of a machine, not of a scheme. */

import type { EvalBucket, EvalMeasuredRow, EvalReport } from '../eval/report.js';
import { isWorse } from '../metrics.js';
import type { Metric, Reading } from './metric.js';

const nmse = { unit: 'NMSE', better: 'lower' } as const;
const nats = { unit: 'nats', better: 'lower' } as const;

interface Errors {
  readonly standardError: number | null;
  readonly windowStandardError: number | null;
}

export const EVAL_METRICS: readonly Metric<EvalReport, EvalMeasuredRow>[] = [
  {
    ...{ name: 'kl.p99', ...nats, field: 'divergence.p99' },
    what: 'KL(f16 || scheme) that 99 % of the predictions stay within',
    read: ({ divergence }) => ({ value: divergence.p99 }),
  },
  {
    ...{ name: 'kl.worstBucket', ...nats, field: 'buckets[].divergence.mean' },
    what: 'mean KL of the worst bucket of positions',
    read: ({ buckets }) => {
      const bucket = worstOf(buckets, (one) => one.divergence.mean ?? Number.NaN);
      return bucket && bucketReading(bucket, bucket.divergence);
    },
  },
  {
    ...{ name: 'kl.mean', ...nats, field: 'divergence.mean' },
    what: 'mean KL of all predictions',
    read: ({ divergence }) => estimated(divergence),
  },
  {
    ...{ name: 'kl.max', ...nats, field: 'divergence.max.value' },
    what: 'KL of the worst prediction',
    read: ({ divergence: { max } }) => ({
      value: max.value,
      place: { window: max.window, position: max.position },
    }),
  },
  {
    ...{ name: 'ppl', unit: 'perplexity', better: 'lower', field: 'perplexity.value' },
    what: 'perplexity; its noise is that of the ratio to f16',
    read: ({ perplexity: { value }, perplexityRatio: ratio }) => ({
      value,
      standardError: scaled(standardErrorOf(ratio), (value ?? Number.NaN) / (ratio.value ?? 0)),
    }),
  },
  {
    ...{ name: 'ppl.delta', unit: 'ratio', better: 'lower', field: 'perplexityRatio.value - 1' },
    what: 'perplexity over that of f16, minus 1',
    read: ({ perplexityRatio: ratio }) => ({
      value: ratio.value === null ? null : ratio.value - 1,
      standardError: standardErrorOf(ratio),
    }),
  },
  {
    ...{ name: 'nll.delta', ...nats, field: 'deltaNegativeLog.mean' },
    what: 'mean of -ln p(right token), scheme minus f16',
    read: ({ deltaNegativeLog }) => estimated(deltaNegativeLog),
  },
  {
    ...{ name: 'top1', unit: 'ratio', better: 'higher', field: 'topAgreement.mean' },
    what: 'share of positions whose most probable token is that of f16',
    read: ({ topAgreement }) => estimated(topAgreement),
  },
  {
    ...{ name: 'top1.worstBucket', field: 'buckets[].topAgreement.mean' },
    ...{ unit: 'ratio', better: 'higher' },
    what: 'the same in the bucket of positions where it is least',
    read: ({ buckets }) => {
      const bucket = worstOf(buckets, (one) => -(one.topAgreement.mean ?? Number.NaN));
      return bucket && bucketReading(bucket, bucket.topAgreement);
    },
  },
  {
    ...{ name: 'probability.rootMeanSquare', field: 'probabilityChange.rootMeanSquare' },
    ...{ unit: 'ratio', better: 'lower' },
    what: 'change of p(right token), root mean square',
    read: ({ probabilityChange }) => ({ value: probabilityChange.rootMeanSquare }),
  },
  {
    ...{ name: 'output.worstHead', ...nmse, field: 'noise.worstHead.nmse' },
    what: 'attention output of the worst head; missing where attention stays inside the model',
    read: ({ noise: { worstHead: worst } }) =>
      worst && { value: worst.nmse, place: { layer: worst.layer, head: worst.head } },
  },
  {
    ...{ name: 'output.worstLayer', ...nmse, field: 'noise.worstLayer.nmse' },
    what: 'attention output of the worst layer; missing where attention stays inside the model',
    read: ({ noise: { worstLayer } }) => worstLayer && layerReading(worstLayer),
  },
  {
    ...{ name: 'key.worstLayer', ...nmse, field: 'noise.worstKeys.nmse' },
    what: 'stored keys of the worst layer',
    read: ({ noise }) => layerReading(noise.worstKeys),
  },
  {
    ...{ name: 'value.worstLayer', ...nmse, field: 'noise.worstValues.nmse' },
    what: 'stored values of the worst layer',
    read: ({ noise }) => layerReading(noise.worstValues),
  },
  {
    ...{ name: 'bits', unit: 'bits per element', better: 'lower', field: 'bits.stored' },
    what: 'at the end of a window, tokens still in f16 included',
    read: ({ bits }) => ({ value: bits.stored }),
  },
  {
    ...{ name: 'bits.packed', unit: 'bits per element', better: 'lower', field: 'bits.asymptotic' },
    what: 'packed blocks alone: what a long context tends to',
    read: ({ bits }) => ({ value: bits.asymptotic }),
  },
  {
    ...{
      name: 'retrieval.worst',
      unit: 'nats',
      better: 'higher',
      field: 'retrieval.rows[].answers',
    },
    what: 'log-probability of a pass key, scheme minus f16, where most is lost; with --retrieval',
    read: ({ id }, { retrieval }) => {
      const answers = retrieval?.rows.find((row) => row.id === id)?.answers ?? [];
      const worst = worstOf([...answers.entries()], ([, { change }]) => -(change ?? Number.NaN));
      if (worst === null) return null;
      const [place, { change }] = worst;
      const prompt = retrieval?.prompts[place];
      return {
        value: change,
        place: { tokens: prompt?.contextTokens ?? 0, depth: prompt?.depth ?? 0 },
      };
    },
  },
];

/** The entry of the largest figure, NaN above everything; null when there is none. */
function worstOf<Entry>(
  entries: readonly Entry[],
  figureOf: (entry: Entry) => number,
): Entry | null {
  let worst: Entry | null = null;
  for (const entry of entries)
    if (worst === null || isWorse(figureOf(entry), figureOf(worst))) worst = entry;
  return worst;
}

function layerReading({ layer, nmse: value }: { layer: number; nmse: number | null }): Reading {
  return { value, place: { layer } };
}

function estimated(figure: Errors & { readonly mean: number | null }): Reading {
  return { value: figure.mean, standardError: standardErrorOf(figure) };
}

function bucketReading(
  { from, to }: EvalBucket,
  figure: Errors & { readonly mean: number | null },
): Reading {
  return { ...estimated(figure), place: { from, to } };
}

function standardErrorOf({ standardError, windowStandardError }: Errors): number | null {
  if (standardError === null) return windowStandardError;
  return Math.max(standardError, windowStandardError ?? 0);
}

function scaled(value: number | null, factor: number): number | null {
  return value === null || !Number.isFinite(factor) ? null : value * factor;
}
