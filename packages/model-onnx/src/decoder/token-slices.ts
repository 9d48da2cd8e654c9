/**
 * Inputs of the last segment cut along tokens.
 */
import type { SegmentPlan } from '../cut/partition.js';
import type { SessionTensor, SessionTensors } from '../model/session.js';

export interface TokenSlice {
  readonly first: number;
  readonly end: number;
}

/**
 * Slices of at most `most` tokens, as even as can be, that cover the wanted ones; all tokens at once where the segment cannot
 * run over slices.
 */
export function* tokenSlices(
  feeds: SessionTensors,
  { tokenWise }: Pick<SegmentPlan, 'tokenWise'>,
  count: number,
  wanted: TokenSlice,
  most: number,
): Generator<TokenSlice & { readonly feeds: SessionTensors }> {
  const edges = Object.entries(feeds);
  const divisible = tokenWise && edges.every(([, tensor]) => hasTokens(tensor, count));
  if (!divisible) {
    yield { first: 0, end: count, feeds };
    return;
  }
  const tokens = wanted.end - wanted.first;
  const step = Math.ceil(tokens / Math.ceil(tokens / most));
  for (let first = wanted.first; first < wanted.end; first += step) {
    const end = Math.min(first + step, wanted.end);
    const cut = edges.map(([name, tensor]) => {
      return [name, sliceOf(tensor, first, end)] as const;
    });
    yield { first, end, feeds: Object.fromEntries(cut) };
  }
}

function hasTokens({ dims }: SessionTensor, count: number): boolean {
  return dims.length === 3 && dims[0] === 1 && dims[1] === count;
}

function sliceOf({ type, data, dims }: SessionTensor, first: number, end: number): SessionTensor {
  const channels = dims[2] ?? 0;
  const part = (data as Float32Array).subarray(first * channels, end * channels);
  return { type, data: part, dims: [1, end - first, channels] };
}
