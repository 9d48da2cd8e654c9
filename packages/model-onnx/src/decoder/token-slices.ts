/**
 * Inputs of the last segment cut along tokens.
 */
import type { Segment } from '../cut/segments.js';
import type { SessionTensor, SessionTensors } from '../model/session.js';

/** Tokens whose logits are made at once. */
const SLICE_TOKENS = 256;

/** Inputs of a graph that do not change with the tokens. */
const WITHOUT_TOKENS = new Set(['num_logits_to_keep', 'logits_to_keep']);

export interface TokenSlice {
  readonly first: number;
  readonly end: number;
}

/**
 * Slices that cover the wanted tokens. All tokens at once when the segment mixes tokens, or when an input is not
 * `[1, tokens, channels]`: a single number may be their count.
 */
export function* tokenSlices(
  feeds: SessionTensors,
  { graphInputs, tokenWise }: Pick<Segment, 'graphInputs' | 'tokenWise'>,
  count: number,
  wanted: TokenSlice,
): Generator<TokenSlice & { readonly feeds: SessionTensors }> {
  const fixed = new Set(graphInputs.map((input) => input.name));
  const edges = Object.entries(feeds).filter(([name]) => !fixed.has(name));
  const divisible =
    tokenWise &&
    [...fixed].every((name) => WITHOUT_TOKENS.has(name)) &&
    edges.every(([, tensor]) => hasTokens(tensor, count));
  if (!divisible) {
    yield { first: 0, end: count, feeds };
    return;
  }
  for (let first = wanted.first; first < wanted.end; first += SLICE_TOKENS) {
    const end = Math.min(first + SLICE_TOKENS, wanted.end);
    const cut = edges.map(([name, tensor]) => {
      return [name, sliceOf(tensor, first, end)] as const;
    });
    yield { first, end, feeds: { ...feeds, ...Object.fromEntries(cut) } };
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
