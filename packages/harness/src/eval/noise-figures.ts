/** Noise of keys, values and attention outputs per layer, and the layers and heads that have the most. */
import { addSums, type ErrorSum, isWorse, nmseOf } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import type { LayerNotes, WindowNotes } from './model.js';
import type { EvalNoise, FailingLayer } from './report.js';

type LayerNoise = EvalNoise['layers'][number];

/** From this ratio on, an error comes from one tensor. */
const DOMINANT = 3;
/** More than the NMSE of what is only rounded to f16, less than that of 8 bits. */
const ROUNDING = 1e-6;

/** Sums of squares over all windows. */
export function noiseFigures(notes: readonly WindowNotes[]): EvalNoise {
  const layers = (notes[0]?.layers ?? []).map((first, layer) => {
    const parts = notes.map(({ layers }) => layers[layer] as LayerNotes);
    const heads = first.heads.map((_, head) =>
      addSums(parts.map(({ heads }) => heads[head] as ErrorSum)),
    );
    return {
      layer,
      key: nmseOf(addSums(parts.map(({ key }) => key))),
      value: nmseOf(addSums(parts.map(({ value }) => value))),
      output: heads.length === 0 ? null : nmseOf(addSums(heads)),
      heads: heads.map(nmseOf),
    };
  });
  const outputs = layers.flatMap(({ layer, output }) =>
    output === null ? [] : [{ layer, nmse: output }],
  );
  const heads = layers.flatMap(({ layer, heads }) =>
    heads.map((nmse, head) => ({ layer, head, nmse })),
  );
  return {
    worstKeys: worstPlace(layers.map(({ layer, key }) => ({ layer, nmse: key }))),
    worstValues: worstPlace(layers.map(({ layer, value }) => ({ layer, nmse: value }))),
    worstLayer: outputs.length === 0 ? null : worstPlace(outputs),
    worstHead: heads.length === 0 ? null : worstPlace(heads),
    layers: layers.map(({ layer, key, value, output, heads }) => ({
      layer,
      keyNmse: finiteOrNull(key),
      valueNmse: finiteOrNull(value),
      outputNmse: output === null ? null : finiteOrNull(output),
      headNmse: heads.map(finiteOrNull),
    })),
  };
}

function worstPlace<Place extends { readonly nmse: number }>(places: readonly Place[]) {
  const worst = places.reduce((a, b) => (isWorse(b.nmse, a.nmse) ? b : a));
  return { ...worst, nmse: finiteOrNull(worst.nmse) };
}

/** Layers whose output NMSE is above a limit or not finite, worst first; none where it is not known. */
export function failingLayers({ layers, worstLayer }: EvalNoise, limit: number): FailingLayer[] {
  if (worstLayer === null) return [];
  const nmse = ({ outputNmse }: LayerNoise) => outputNmse ?? Number.POSITIVE_INFINITY;
  return layers
    .filter((layer) => nmse(layer) > limit)
    .toSorted((a, b) => (nmse(b) === nmse(a) ? 0 : nmse(b) - nmse(a)))
    .map(layerCause);
}

/** Its noise, where it comes from and the head that has the most. */
export function layerCause({
  layer,
  keyNmse,
  valueNmse,
  outputNmse,
  headNmse,
}: LayerNoise): FailingLayer {
  const heads = headNmse.map((nmse, head) => ({ head, nmse: nmse ?? Number.POSITIVE_INFINITY }));
  return {
    layer,
    source: sourceOf(keyNmse, valueNmse, outputNmse),
    keyNmse,
    valueNmse,
    outputNmse,
    worstHead: worstPlace(heads),
  };
}

/**
 * A tensor without noise is not to blame. Values are averaged, and their noise with them: an output that is much noisier
 * than its values has attended to other tokens, which is the keys' doing, however small their own NMSE (a few large channels
 * make it so).
 */
function sourceOf(
  key: number | null,
  value: number | null,
  output: number | null,
): FailingLayer['source'] {
  if (key === null || value === null || output === null) return 'keys and values';
  if (key <= ROUNDING) return 'values';
  if (value <= ROUNDING) return 'keys';
  if (output > DOMINANT * value) return 'keys';
  return value > DOMINANT * key ? 'values' : 'keys and values';
}
