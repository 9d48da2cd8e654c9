/** Noise of keys, values and attention outputs per layer, and the layers and heads that have the most. */
import { addSums, type ErrorSum, isWorse, nmseOf } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import type { LayerNotes, WindowNotes } from './model.js';
import type { EvalNoise, FailingLayer } from './report.js';

type LayerNoise = EvalNoise['layers'][number];

/** From this ratio on, the error of an output comes from one tensor. */
const DOMINANT = 3;

/** Sums of squares over all windows. */
export function noiseFigures(windows: readonly WindowNotes[]): EvalNoise {
  const layers = (windows[0]?.layers ?? []).map((_, layer) =>
    layerFigures(windows.map(({ layers }) => layers[layer] as LayerNotes)),
  );
  const outputs = layers.flatMap(({ output }, layer) =>
    output === null ? [] : [{ layer, nmse: output }],
  );
  const heads = layers.flatMap(({ heads }, layer) =>
    heads.map((nmse, head) => ({ layer, head, nmse })),
  );
  return {
    worstKeys: worstPlace(layers.map(({ key }, layer) => ({ layer, nmse: key }))),
    worstValues: worstPlace(layers.map(({ value }, layer) => ({ layer, nmse: value }))),
    worstLayer: outputs.length === 0 ? null : worstPlace(outputs),
    worstHead: heads.length === 0 ? null : worstPlace(heads),
    layers: layers.map(({ key, value, output, heads, keysOnly, valuesOnly }, layer) => ({
      layer,
      keyNmse: finiteOrNull(key),
      valueNmse: finiteOrNull(value),
      outputNmse: output === null ? null : finiteOrNull(output),
      headNmse: heads.map(finiteOrNull),
      keysOnlyNmse: keysOnly === null ? null : finiteOrNull(keysOnly),
      valuesOnlyNmse: valuesOnly === null ? null : finiteOrNull(valuesOnly),
    })),
  };
}

/** NMSE of one layer, from its notes in all windows; null for what the model does not note. */
function layerFigures(windows: readonly LayerNotes[]) {
  const nmse = (part: (notes: LayerNotes) => ErrorSum) => nmseOf(addSums(windows.map(part)));
  const heads = (windows[0]?.heads ?? []).map((_, head) =>
    addSums(windows.map((notes) => notes.heads[head] as ErrorSum)),
  );
  const causes = windows.flatMap((notes) => notes.causes ?? []);
  return {
    key: nmse(({ key }) => key),
    value: nmse(({ value }) => value),
    output: heads.length === 0 ? null : nmseOf(addSums(heads)),
    heads: heads.map(nmseOf),
    keysOnly: causes.length === 0 ? null : nmseOf(addSums(causes.map(({ keysOnly }) => keysOnly))),
    valuesOnly:
      causes.length === 0 ? null : nmseOf(addSums(causes.map(({ valuesOnly }) => valuesOnly))),
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

/** The noise of a layer's output, what it comes from and the head that has the most. */
export function layerCause(noise: LayerNoise): FailingLayer {
  const { layer, outputNmse, keysOnlyNmse, valuesOnlyNmse, headNmse } = noise;
  const heads = headNmse.map((nmse, head) => ({ head, nmse: nmse ?? Number.POSITIVE_INFINITY }));
  return {
    layer,
    source: sourceOf(keysOnlyNmse, valuesOnlyNmse),
    outputNmse,
    keysOnlyNmse,
    valuesOnlyNmse,
    worstHead: worstPlace(heads),
  };
}

/** Their own NMSE does not tell: attention averages the noise of values away, and that of keys it may follow. */
function sourceOf(keysOnly: number | null, valuesOnly: number | null): FailingLayer['source'] {
  if (keysOnly === null || valuesOnly === null) return null;
  if (keysOnly > DOMINANT * valuesOnly) return 'keys';
  return valuesOnly > DOMINANT * keysOnly ? 'values' : 'keys and values';
}
