/**
 * How a cache of keys or values lies in an input of a decoder: which axis counts tokens, heads and channels.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Dimension } from '../attention/graph-view.js';
import { headDimOf, type ModelConfig } from './config.js';
import type { ModelInput } from './input-contract.js';

/** `pair` has two entries: keys, then values. */
type Axis = 'pair' | 'batch' | 'heads' | 'tokens' | 'channels';

export interface PastLayout {
  readonly axes: readonly Axis[];
  readonly heads: number;
  readonly channels: number;
  /** Tokens that the input always has; null: as many as there are. */
  readonly capacity: number | null;
}

const ORDERS: readonly (readonly Axis[])[] = [
  ['heads', 'tokens', 'channels'],
  ['tokens', 'heads', 'channels'],
  ['heads', 'channels', 'tokens'],
];

/** By rank. With three axes, the heads of all sequences lie on one, and there is one sequence. */
const LAYOUTS: Readonly<Record<number, readonly (readonly Axis[])[]>> = {
  3: ORDERS.filter(([first]) => first === 'heads'),
  4: ORDERS.map((order) => ['batch', ...order]),
  5: ORDERS.map((order) => ['pair', 'batch', ...order]),
};

/** How exporters name dimensions that count tokens. */
const TOKENS_NAME = /past|seq|total|len|token|cache/i;

/**
 * From the declared shape, and from the configuration where the shape leaves it open. Throws MODEL_UNSUPPORTED when both
 * together do not say which axis is which, or how large.
 */
export function layoutOf({ name, shape }: ModelInput, config: ModelConfig): PastLayout {
  const dims = shape ?? [];
  const possible = (LAYOUTS[dims.length] ?? []).filter((axes) => isOneSequence(axes, dims));
  const byShape = possible.flatMap((axes) => sized(axes, dims, {}));
  const byConfig = possible.flatMap((axes) => sized(axes, dims, config));
  const byName = byConfig.filter(({ axes }) =>
    axes.every((axis, i) => isNamedTokens(dims[i]) === (axis === 'tokens')),
  );
  const found = [byShape, byConfig, byName].find((layouts) => layouts.length === 1);
  if (found?.[0] !== undefined) return found[0];
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `the shape of ${name} does not say how keys or values lie in it`,
    value: shape,
    valid: [
      '[batch, kv_heads, past, head_dim]',
      '[batch, past, kv_heads, head_dim]',
      '[batch, kv_heads, head_dim, past]',
    ],
    next: 'Export it with fixed kv heads and head dim, or complete num_key_value_heads and head_dim in config.json.',
  });
}

/** The dimensions of an input with so many tokens. */
export function dimsOf({ axes, heads, channels }: PastLayout, tokens: number): number[] {
  const sizes = { pair: 2, batch: 1, heads, tokens, channels };
  return axes.map((axis) => sizes[axis]);
}

/** Index of the first element of every row `[token, head]`, and the distance of its channels. */
interface Rows {
  at(token: number, head: number): number;
  readonly step: number;
}

/** `pair` chooses between keys (0) and values (1) where both lie in one tensor. */
function rowsIn(layout: PastLayout, tokens: number, pair: number): Rows {
  const strides = { pair: 0, batch: 0, heads: 0, tokens: 0, channels: 0 };
  const dims = dimsOf(layout, tokens);
  let stride = 1;
  for (let i = dims.length - 1; i >= 0; i--) {
    strides[layout.axes[i] as Axis] = stride;
    stride *= dims[i] as number;
  }
  return {
    at: (token, head) => pair * strides.pair + token * strides.tokens + head * strides.heads,
    step: strides.channels,
  };
}

/** Where rows go in a tensor of `slots` tokens. */
export interface RowPlace {
  readonly slots: number;
  readonly first: number;
  readonly pair: number;
}

/** Writes `rows`, `[tokens, heads, channels]`, into a tensor from slot `first` on. */
export function placeRows(
  layout: PastLayout,
  { slots, first, pair }: RowPlace,
  rows: Float32Array,
  tensor: Float32Array,
): void {
  const { at, step } = rowsIn(layout, slots, pair);
  const { heads, channels } = layout;
  for (let row = 0, from = 0; from < rows.length; row++, from += channels) {
    const to = at(first + Math.floor(row / heads), row % heads);
    for (let c = 0; c < channels; c++) tensor[to + c * step] = rows[from + c] as number;
  }
}

/** Reads `count` tokens from slot `first` on: `[count, heads, channels]`. */
export function takeRows(
  layout: PastLayout,
  { slots, first, pair }: RowPlace,
  tensor: Float32Array,
  count: number,
): Float32Array {
  const { at, step } = rowsIn(layout, slots, pair);
  const { heads, channels } = layout;
  const rows = new Float32Array(count * heads * channels);
  for (let row = 0, to = 0; to < rows.length; row++, to += channels) {
    const from = at(first + Math.floor(row / heads), row % heads);
    for (let c = 0; c < channels; c++) rows[to + c] = tensor[from + c * step] as number;
  }
  return rows;
}

function isOneSequence(axes: readonly Axis[], dims: readonly Dimension[]): boolean {
  return axes.every((axis, i) => {
    const dim = dims[i];
    if (typeof dim !== 'number') return axis !== 'pair';
    return (axis !== 'batch' || dim === 1) && (axis !== 'pair' || dim === 2);
  });
}

/** With every size known and none against the configuration; tokens are open where anything is. */
function sized(
  axes: readonly Axis[],
  dims: readonly Dimension[],
  config: ModelConfig,
): PastLayout[] {
  const dimOf = (axis: Axis) => dims[axes.indexOf(axis)] ?? null;
  const kvHeads = config.num_key_value_heads ?? config.num_attention_heads;
  const heads = sizeOf(dimOf('heads'), kvHeads ?? null);
  const channels = sizeOf(dimOf('channels'), headDimOf(config));
  const tokens = dimOf('tokens');
  const capacity = typeof tokens === 'number' ? tokens : null;
  if (heads === null || channels === null) return [];
  const anyOpen = ['heads', 'channels'].some((axis) => typeof dimOf(axis as Axis) !== 'number');
  const configured = kvHeads != null && headDimOf(config) !== null;
  // A shape that is fixed altogether fits several layouts: only the configuration tells them apart.
  if (capacity !== null && (anyOpen || !configured)) return [];
  return [{ axes, heads, channels, capacity }];
}

/** Null where neither says it, or the two disagree. */
function sizeOf(dim: Dimension, configured: number | null): number | null {
  if (typeof dim !== 'number') return configured;
  return configured === null || configured === dim ? dim : null;
}

function isNamedTokens(dim: Dimension | undefined): boolean {
  return typeof dim === 'string' && TOKENS_NAME.test(dim);
}
