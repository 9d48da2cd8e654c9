/** Noise of keys, values and attention outputs per layer, and the layers and heads that have the most. */
import { addSums, type ErrorSum, isWorse, nmseOf } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import type { LayerNotes, WindowNotes } from './model.js';
import type { EvalNoise, FailingLayer } from './report.js';

/** From this ratio on, an error comes from one tensor. */
const DOMINANT = 3;

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
      output: nmseOf(addSums(heads)),
      heads: heads.map(nmseOf),
    };
  });
  const worst = (name: 'key' | 'value' | 'output') =>
    worstPlace(layers.map((figures) => ({ layer: figures.layer, nmse: figures[name] })));
  return {
    worstKeys: worst('key'),
    worstValues: worst('value'),
    worstLayer: worst('output'),
    worstHead: worstPlace(
      layers.flatMap(({ layer, heads }) => heads.map((nmse, head) => ({ layer, head, nmse }))),
    ),
    layers: layers.map(({ layer, key, value, output, heads }) => ({
      layer,
      keyNmse: finiteOrNull(key),
      valueNmse: finiteOrNull(value),
      outputNmse: finiteOrNull(output),
      headNmse: heads.map(finiteOrNull),
    })),
  };
}

function worstPlace<Place extends { readonly nmse: number }>(places: readonly Place[]) {
  const worst = places.reduce((a, b) => (isWorse(b.nmse, a.nmse) ? b : a));
  return { ...worst, nmse: finiteOrNull(worst.nmse) };
}

/** Layers whose output NMSE is above a limit or not finite, worst first. */
export function failingLayers({ layers }: EvalNoise, limit: number): FailingLayer[] {
  const nmse = ({ outputNmse }: { readonly outputNmse: number | null }) =>
    outputNmse ?? Number.POSITIVE_INFINITY;
  return layers
    .filter((layer) => nmse(layer) > limit)
    .toSorted((a, b) => (nmse(b) === nmse(a) ? 0 : nmse(b) - nmse(a)))
    .map(({ layer, keyNmse, valueNmse, outputNmse }) => ({
      layer,
      source: sourceOf(keyNmse, valueNmse, outputNmse),
      keyNmse,
      valueNmse,
      outputNmse,
    }));
}

/**
 * Values are averaged, and their noise with them: an output that is much noisier than its values has attended to other
 * tokens, which is the keys' doing, however small their own NMSE (a few large channels make it so).
 */
function sourceOf(
  key: number | null,
  value: number | null,
  output: number | null,
): FailingLayer['source'] {
  if (key === null || value === null || output === null) return 'keys and values';
  if (output > DOMINANT * value) return 'keys';
  return value > DOMINANT * key ? 'values' : 'keys and values';
}
