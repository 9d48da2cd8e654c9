/**
 * How far stored keys or values are off, by layer and kv head.
 */
import { addSums, type ErrorSum, errorSum, isWorse, meanOf, nmseOf } from './metrics.js';
import { finiteOrNull, type SimulatedRow } from './report.js';

/** A sum per kv head, of elements `[tokens, heads, headDim]`. */
export function headErrors(
  actual: ArrayLike<number>,
  exact: ArrayLike<number>,
  heads: number,
  headDim: number,
): ErrorSum[] {
  return Array.from({ length: heads }, (_, head) => {
    const sums: ErrorSum[] = [];
    for (let first = head * headDim; first < exact.length; first += heads * headDim)
      sums.push(errorSum(actual, exact, first, first + headDim));
    return addSums(sums);
  });
}

/** `[layers][heads]`; `numbers` are the layers' numbers in the model. */
export function tensorError(
  errors: readonly (readonly ErrorSum[])[],
  numbers: readonly number[],
): SimulatedRow['key'] {
  const first = numbers[0] as number;
  let worstLayer = { layer: first, nmse: -1 };
  let worstHead = { layer: first, head: 0, nmse: -1 };
  const layers = errors.map((sums, i) => {
    const layer = numbers[i] as number;
    const nmse = nmseOf(addSums(sums));
    if (isWorse(nmse, worstLayer.nmse)) worstLayer = { layer, nmse };
    const heads = sums.map(nmseOf);
    for (const [head, own] of heads.entries())
      if (isWorse(own, worstHead.nmse)) worstHead = { layer, head, nmse: own };
    return { layer, nmse, heads };
  });
  return {
    nmse: finiteOrNull(meanOf(layers.map(({ nmse }) => nmse))),
    worstLayer: { ...worstLayer, nmse: finiteOrNull(worstLayer.nmse) },
    worstHead: { ...worstHead, nmse: finiteOrNull(worstHead.nmse) },
    layers: layers.map(({ layer, nmse, heads }) => ({
      layer,
      nmse: finiteOrNull(nmse),
      heads: heads.map(finiteOrNull),
    })),
  };
}
