/** Verdicts in words: the level from the thresholds, the reason from the places that decide, and the layers that fail. */
import type { PageClass } from '@lowbit-kv/core';
import type { Verdict } from '../report.js';
import { layerCause } from './noise-figures.js';
import type { EvalMeasuredRow, FailingLayer } from './report.js';
import { seenPacked } from './self-checks.js';
import { EVAL_THRESHOLDS } from './thresholds.js';

/** More failing layers than these are counted, not named. */
const NAMED_LAYERS = 3;

type Judged = Pick<
  EvalMeasuredRow,
  'checks' | 'divergence' | 'buckets' | 'worstBucket' | 'noise' | 'failingLayers'
>;

/** One of the figures that decide. */
interface Deciding {
  readonly value: number | null;
  readonly safe: number;
  readonly care: number;
  /** Figure and place. */
  readonly text: string;
}

export function evalVerdict(
  row: Judged,
  classes: readonly PageClass[],
  windowTokens: number,
): Verdict {
  const failed = row.checks.filter(({ result }) => result === 'failed');
  if (failed.length > 0) {
    return {
      level: 'invalid',
      reason: `self-check failed: ${failed.map(({ name, detail }) => `${name} (${detail})`).join('; ')}`,
    };
  }
  const unseen = unseenTensors(classes, windowTokens);
  if (unseen !== null) {
    return {
      level: 'unmeasured',
      reason: `no prediction sees packed ${unseen}: windows of ${windowTokens} tokens are still in f16; take longer windows`,
    };
  }
  const deciding = decidingFigures(row);
  const beyond = (limit: 'safe' | 'care') =>
    deciding.filter((figure) => figure.value === null || figure.value > figure[limit]);
  const unsafe = beyond('care');
  const problems = unsafe.length > 0 ? unsafe : beyond('safe');
  if (problems.length === 0)
    return { level: 'safe', reason: deciding.map(({ text }) => text).join(', ') };
  const level = unsafe.length > 0 ? 'unsafe' : 'care';
  const limit = level === 'unsafe' ? 'care' : 'safe';
  return {
    level,
    reason: [
      ...problems.map((figure) => `${figure.text} (limit ${figure[limit]})`),
      ...layerNotes(row),
    ].join('; '),
  };
}

/** Noise that the logits do not show takes `safe` away and no more: this text may not have asked for what a layer lost. */
function decidingFigures({ divergence, buckets, worstBucket, noise }: Judged): Deciding[] {
  const { from, to } = worstBucket;
  const worst = buckets.find((bucket) => bucket.from === from);
  const { worstLayer } = noise;
  return [
    {
      value: divergence.p99,
      safe: EVAL_THRESHOLDS.safeDivergenceP99,
      care: EVAL_THRESHOLDS.careDivergenceP99,
      text: `KL p99 ${figure(divergence.p99)}`,
    },
    {
      value: worst?.divergence.mean ?? null,
      safe: EVAL_THRESHOLDS.safeWorstBucket,
      care: EVAL_THRESHOLDS.careWorstBucket,
      text: `KL ${figure(worst?.divergence.mean ?? null)} at positions ${from} to ${to - 1}`,
    },
    ...(worstLayer === null
      ? []
      : [
          {
            value: worstLayer.nmse,
            safe: EVAL_THRESHOLDS.safeWorstLayer,
            care: Number.POSITIVE_INFINITY,
            text: `worst layer ${worstLayer.layer} output NMSE ${figure(worstLayer.nmse)}`,
          },
        ]),
  ];
}

/** The layers that fail; without one, the noisiest. */
function layerNotes({ failingLayers, noise: { worstLayer, layers } }: Judged): string[] {
  if (worstLayer === null)
    return ['which layers fail is not known: attention stays inside the model'];
  if (failingLayers.length === 0) {
    const noisiest = layers.filter(({ layer }) => layer === worstLayer.layer).map(layerCause);
    return [`no layer fails alone, the noisiest: ${noisiest.map(layerText).join()}`];
  }
  const notes = failingLayers.slice(0, NAMED_LAYERS).map(layerText);
  const rest = failingLayers.length - NAMED_LAYERS;
  return rest > 0 ? [...notes, `and ${rest} more layers`] : notes;
}

function layerText(failing: FailingLayer): string {
  const { layer, source, outputNmse, keysOnlyNmse, valuesOnlyNmse, worstHead } = failing;
  const tensors = source === null ? '' : `${source} of `;
  const shares =
    source === null
      ? ''
      : ` (keys alone ${figure(keysOnlyNmse)}, values alone ${figure(valuesOnlyNmse)})`;
  return `${tensors}layer ${layer}: output NMSE ${figure(outputNmse)}${shares}, head ${worstHead.head} ${figure(worstHead.nmse)}`;
}

/** Tensors that a scheme quantizes but of which no packed token is attended to in a window. */
function unseenTensors(classes: readonly PageClass[], windowTokens: number): string | null {
  const unseen = classes.filter(
    (pageClass) => pageClass.flush > 0 && seenPacked(pageClass, windowTokens) === 0,
  );
  const tensors = new Set(unseen.map(({ tensor }) => `${tensor}s`));
  return tensors.size === 0 ? null : [...tensors].join(' and ');
}

function figure(value: number | null): string {
  return value === null ? 'not finite' : value.toPrecision(2);
}
