/**
 * What a recogniser of an attention form says about one layer of a graph: where queries, keys and values lie, where the
 * output goes, and which numbers attention has. Names are names of values of the graph.
 */

/** Projected heads as the graph holds them, element type that of the model. */
export interface HeadsValue {
  readonly name: string;
  /**
   * `rows`: `[batch, tokens, heads * headDim]`. `headsFirst`: `[batch, heads, tokens, headDim]`. `tokensFirst`:
   * `[batch, tokens, heads, headDim]`. `parts`: `[batch, tokens, heads, parts, headDim]`, of which `part` is meant.
   */
  readonly layout: 'rows' | 'headsFirst' | 'tokensFirst' | 'parts';
  /** Of `rows`: the channels meant, where the value holds more (packed QKV). */
  readonly channels?: { readonly first: number; readonly count: number };
  /** Of `parts`. */
  readonly part?: number;
  /** A vector added to every token, `[heads * headDim]` of these channels of an initializer. */
  readonly bias?: { readonly name: string; readonly first: number; readonly count: number };
}

/** A rotary embedding that the graph did, and that is ours after the cut. */
export interface RotarySite {
  /** `[positions, pairs]`: names of constant tables. */
  readonly cosine: string;
  readonly sine: string;
  readonly pairs: 'halves' | 'adjacent';
}

/**
 * Broadcast to `[batch, heads, tokens, past + tokens]`. `added`: to the logits. `boolean`: true is seen. `hidden`: true is
 * not seen.
 */
export interface MaskValue {
  readonly name: string;
  readonly kind: 'added' | 'boolean' | 'hidden';
}

export interface AttentionSite {
  /** Operator or pattern, for people: `GroupQueryAttention`, `Concat + MatMul + Softmax + MatMul`. */
  readonly form: string;
  /** Name of its node (or of the most telling one), for messages. */
  readonly node: string;
  /** Queries and keys come before the rotary embedding where `rotary` is there. */
  readonly query: HeadsValue;
  readonly key: HeadsValue;
  readonly value: HeadsValue;
  /** The value that attention gave; every consumer of it reads ours instead. `[.., queryHeads, valueHeadDim]`. */
  readonly output: { readonly name: string; readonly layout: 'rows' | 'headsFirst' };
  /** Of the output. */
  readonly elementType: 'float32' | 'float16';
  readonly geometry: SiteGeometry;
  readonly rotary: RotarySite | null;
  /** Whether the form itself hides later tokens. */
  readonly causal: boolean;
  /**
   * Together, and with the form, they must prove to be a causal mask with or without a sliding window (older exports have
   * one of causality and one of padding).
   */
  readonly masks: readonly MaskValue[];
  /** Graph inputs that held the past, and outputs that gave it back, where there are any. */
  readonly past: { readonly inputs: readonly string[]; readonly outputs: readonly string[] };
}

export interface SiteGeometry {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly scale: number;
  readonly softCap: number | null;
  /** Newest positions that a query sees, its own included; null: all. */
  readonly window: number | null;
}

/** A node that looks like attention and cannot be taken over, with the reason in words. */
export interface UnsupportedSite {
  readonly node: string;
  readonly operator: string;
  readonly reason: string;
}
