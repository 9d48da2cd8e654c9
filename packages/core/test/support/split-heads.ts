/**
 * A scheme that stores the kv heads of its first layer in three ways, for the tests of units.
 */
import { type Geometry, LowbitKvError, type Scheme, type TensorScheme } from '../../src/index.js';
import { asymmetric, channelScaled, inlineScheme, symmetric } from '../../src/testing/index.js';

export const HEADS = 4;
export const GROUP = 2;
export const KEY_DIM = 32;
export const VALUE_DIM = 48;
export const geometry: Geometry = {
  layers: 2,
  queryHeads: HEADS * GROUP,
  kvHeads: HEADS,
  keyHeadDim: KEY_DIM,
  valueHeadDim: VALUE_DIM,
};
export const F16: TensorScheme = { bits: 16 };
export const base = {
  key: channelScaled(asymmetric(4, 'tokens', 16, { recent: 8, flush: 16 }), 24),
  value: symmetric(3, 'full', 'channels', 16, { recent: 12, flush: 1 }),
};
export const eight = asymmetric(8, 'channels', 16);

/** Keys and values of each head of layer 0; layer 1 is stored by the base scheme. */
export const stored: readonly { readonly key: TensorScheme; readonly value: TensorScheme }[] = [
  base,
  { key: eight, value: base.value },
  { key: base.key, value: F16 },
  { key: eight, value: base.value },
];

export const schemeOf = (parts: { key: TensorScheme; value: TensorScheme }): Scheme =>
  inlineScheme({ ...parts, sinks: 3, packing: 'before-attention' });

export const split: Scheme = {
  ...schemeOf(base),
  overrides: [
    { layers: [0], heads: [1, 2, 3], key: F16 },
    // Later entries win.
    { layers: [0], heads: [3, 1], key: eight },
    { layers: [-2], heads: [2], key: base.key, value: F16 },
  ],
};

/** What the action throws; nothing is an error of the test. */
export function refusal(act: () => unknown): LowbitKvError {
  try {
    act();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
