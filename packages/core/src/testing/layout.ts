/**
 * Conversions between the public layout of one batch entry, `[heads, tokens, dim]`, and the ragged layout that core
 * works in, `[tokens, heads, dim]`.
 */
import { checkLength } from './check.js';

export interface HeadTensorShape {
  readonly heads: number;
  readonly tokens: number;
  readonly dim: number;
}

type Elements = Uint16Array | Float32Array | Float64Array;

/** `[heads, tokens, dim]` to `[tokens, heads, dim]`, as a new array of the same type. */
export function headsFirstToRagged<Source extends Elements>(
  source: Source,
  shape: HeadTensorShape,
): Source {
  return swapOuterAxes(source, shape.heads, shape.tokens, shape.dim, '[heads, tokens, dim]');
}

/** `[tokens, heads, dim]` to `[heads, tokens, dim]`, as a new array of the same type. */
export function raggedToHeadsFirst<Source extends Elements>(
  source: Source,
  shape: HeadTensorShape,
): Source {
  return swapOuterAxes(source, shape.tokens, shape.heads, shape.dim, '[tokens, heads, dim]');
}

function swapOuterAxes<Source extends Elements>(
  source: Source,
  outer: number,
  middle: number,
  dim: number,
  layout: string,
): Source {
  checkLength('source', source, outer * middle * dim, layout);
  const result = source.slice();
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < middle; j++) {
      const from = (i * middle + j) * dim;
      result.set(source.subarray(from, from + dim), (j * outer + i) * dim);
    }
  }
  return result as Source;
}
