/**
 * What the data look like and where an error comes from: the facts behind a verdict's words.
 */
import type { CaptureData } from './capture-data.js';
import { type ExactAttention, exactAttention } from './exact-attention.js';
import type { HeldLayer } from './held-cache.js';
import { addSums, type ErrorSum, errorSum, nmseOf } from './metrics.js';
import { type ErrorCause, finiteOrNull, type LayerData, type OutputError } from './report.js';

/** Statistics of every captured layer. */
export function describeData(data: CaptureData): LayerData[] {
  const { kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
  return data.layers.map((layer) => {
    const { key, value } = layer.exact;
    return {
      layer: layer.index,
      keyRootMeanSquare: finiteOrNull(rootMeanSquare(key)),
      valueRootMeanSquare: finiteOrNull(rootMeanSquare(value)),
      keyChannelOutliers: channelOutliers(key, kvHeads, keyHeadDim),
      valueChannelOutliers: channelOutliers(value, kvHeads, valueHeadDim),
    };
  });
}

function rootMeanSquare(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
}

/** Per head: the largest channel maximum of |x| over the median one. `[tokens, heads, dim]`. */
function channelOutliers(values: Float32Array, heads: number, dim: number): (number | null)[] {
  const maxima = new Float64Array(heads * dim);
  for (let i = 0; i < values.length; i++) {
    const channel = i % maxima.length;
    maxima[channel] = Math.max(maxima[channel] as number, Math.abs(values[i] as number));
  }
  return Array.from({ length: heads }, (_, head) => {
    const sorted = maxima.slice(head * dim, (head + 1) * dim).sort();
    const median =
      ((sorted[Math.floor((dim - 1) / 2)] as number) + (sorted[Math.floor(dim / 2)] as number)) / 2;
    return finiteOrNull((sorted[dim - 1] as number) / median);
  });
}

/** The worst head again, in float64, with only the keys and with only the values as the cache holds them. */
export function findCause(
  data: CaptureData,
  held: readonly HeldLayer[],
  exact: readonly ExactAttention[],
  output: OutputError,
): ErrorCause {
  const { layer, head } = output.worstHead;
  const place = data.layers.findIndex(({ index }) => index === layer);
  const captured = data.layers[place] as CaptureData['layers'][number];
  const cached = held[place] as HeldLayer;
  const truth = (exact[place] as ExactAttention).output;
  const { query } = captured;
  const nmse = (key: Float32Array, value: Float32Array) => {
    const attended = exactAttention({ key, value, query }, data.sizes, head).output;
    return finiteOrNull(nmseOf(headError(attended, truth, head, data)));
  };
  return {
    layer,
    head,
    keysOnly: nmse(cached.key, captured.exact.value),
    valuesOnly: nmse(captured.exact.key, cached.value),
  };
}

function headError(
  actual: Float64Array,
  exact: Float64Array,
  head: number,
  { sizes }: CaptureData,
): ErrorSum {
  const { queryHeads, valueHeadDim, queries } = sizes;
  return addSums(
    Array.from({ length: queries }, (_, query) => {
      const first = (query * queryHeads + head) * valueHeadDim;
      return errorSum(actual, exact, first, first + valueHeadDim);
    }),
  );
}
