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
 * Slices that cover the wanted tokens. All tokens at once when one of the inputs is neither `[1, tokens, channels]` nor a
 * single number, so that it cannot be cut.
 */
export function* tokenSlices(
  feeds: SessionTensors,
  { graphInputs }: Segment,
  count: number,
  wanted: TokenSlice,
): Generator<TokenSlice & { readonly feeds: SessionTensors }> {
  const fixed = new Set(graphInputs.map((input) => input.name));
  const edges = Object.entries(feeds).filter(([name]) => !fixed.has(name));
  const divisible =
    [...fixed].every((name) => WITHOUT_TOKENS.has(name)) &&
    edges.every(([, tensor]) => isScalar(tensor) || hasTokens(tensor, count));
  if (!divisible) {
    yield { first: 0, end: count, feeds };
    return;
  }
  for (let first = wanted.first; first < wanted.end; first += SLICE_TOKENS) {
    const end = Math.min(first + SLICE_TOKENS, wanted.end);
    const cut = edges.map(([name, tensor]) => {
      return [name, isScalar(tensor) ? tensor : sliceOf(tensor, first, end)] as const;
    });
    yield { first, end, feeds: { ...feeds, ...Object.fromEntries(cut) } };
  }
}

function isScalar({ dims }: SessionTensor): boolean {
  return dims.every((dim) => dim === 1) && dims.length < 3;
}

function hasTokens({ dims }: SessionTensor, count: number): boolean {
  return dims.length === 3 && dims[0] === 1 && dims[1] === count;
}

function sliceOf({ type, data, dims }: SessionTensor, first: number, end: number): SessionTensor {
  const channels = dims[2] ?? 0;
  const part = (data as Float32Array).subarray(first * channels, end * channels);
  return { type, data: part, dims: [1, end - first, channels] };
}
