/**
 * Which axis of a past is which, and rows put there and taken back.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { maxAbsDifference } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import type { Dimension } from '../src/attention/graph-view.js';
import { openUncut } from '../src/decoder/uncut.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { dimsOf, layoutOf, placeRows, takeRows } from '../src/model/past-layout.js';
import { TOKENS } from './support/cut-and-whole.js';
import { modelBytes } from './support/graph-writer.js';
import { runWhole } from './support/run-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { decomposed } from './support/tiny-decomposed.js';

const CONFIG = { num_attention_heads: 4, num_key_value_heads: 2, head_dim: 3 };
const layout = (shape: readonly Dimension[], config: Partial<typeof CONFIG> = CONFIG) =>
  layoutOf({ name: 'past_key_values.0.key', type: 'float32', shape }, config);
const HEADS_FIRST = ['batch', 'heads', 'tokens', 'channels'];
const TOKENS_FIRST = ['batch', 'tokens', 'heads', 'channels'];
const CHANNELS_FIRST = ['batch', 'heads', 'channels', 'tokens'];

describe('shapes alone', () => {
  it.each<[Dimension[], string[]]>([
    [['batch', 2, 'past', 3], HEADS_FIRST],
    [[1, 2, '', 3], HEADS_FIRST],
    [['batch', 'past', 2, 3], TOKENS_FIRST],
    [['batch', 2, 3, 'past'], CHANNELS_FIRST],
    [
      [2, 'past', 3],
      ['heads', 'tokens', 'channels'],
    ],
    [
      [2, 3, 'past'],
      ['heads', 'channels', 'tokens'],
    ],
    [
      [2, 'batch', 2, 'past', 3],
      ['pair', ...HEADS_FIRST],
    ],
  ])('%j', (shape, axes) => {
    expect(layout(shape, {})).toEqual({ axes, heads: 2, channels: 3, capacity: null });
  });
});

describe('shapes and the configuration', () => {
  it.each<[Dimension[], string[], number | null]>([
    [['batch', 'heads', 'past', 'dim'], HEADS_FIRST, null],
    [['batch', 'past_sequence_length', 'heads', 3], TOKENS_FIRST, null],
    [[1, 2, 40, 3], HEADS_FIRST, 40],
    [[1, 40, 2, 3], TOKENS_FIRST, 40],
    [[1, 2, 3, 40], CHANNELS_FIRST, 40],
  ])('%j', (shape, axes, capacity) => {
    expect(layout(shape)).toEqual({ axes, heads: 2, channels: 3, capacity });
  });

  it('the shape wins where it says it all', () => {
    expect(layout(['batch', 5, 'past', 7])).toMatchObject({ heads: 5, channels: 7 });
  });
});

it.each<[Dimension[], Partial<typeof CONFIG>]>([
  [['batch', 'a', 'b', 'c'], CONFIG],
  [['batch', 'heads', 'past', 'dim'], {}],
  [[1, 2, 40, 3], {}],
  [[1, 5, 40, 7], CONFIG],
  [[3, 2, 'past', 3], CONFIG],
  [['batch', 'past'], CONFIG],
  [[3, 'batch', 2, 'past', 3], CONFIG],
])('refuses %j', (shape, config) => {
  expect(() => layout(shape, config)).toThrow(LowbitKvError);
});

it('the uncut model takes a past of tokens first', async () => {
  const tiny = tinyDecoder(decomposed({ cache: 'tokens-first', pastLength: 'attention_mask' }));
  const uncut = await openUncut(modelFromBytes({ model: modelBytes(tiny.model) }));
  const logits = new Float32Array(TOKENS.length * tiny.sizes.vocabulary);
  await uncut.logits(TOKENS, (_, rows) => logits.set(rows));
  expect(maxAbsDifference(logits, await runWhole(tiny, TOKENS))).toBeLessThan(1e-5);
  await uncut.dispose();
});

it.each<[string[], number[]]>([
  [HEADS_FIRST, [1, 2, 4, 3]],
  [TOKENS_FIRST, [1, 4, 2, 3]],
  [CHANNELS_FIRST, [1, 2, 3, 4]],
  [
    ['pair', ...HEADS_FIRST],
    [2, 1, 2, 4, 3],
  ],
])('rows go to their places: %j', (axes, dims) => {
  const sizes: Readonly<Record<string, number>> = { pair: 2, heads: 2, channels: 3 };
  const found = layout(axes.map((axis) => sizes[axis] ?? axis));
  expect(dimsOf(found, 4)).toEqual(dims);
  const strides = dims.map((_, i) => dims.slice(i + 1).reduce((a, b) => a * b, 1));
  const tensor = new Float32Array(2 * (strides[0] ?? 0)).fill(-1);
  // The element of token t, head h and channel c is 100 t + 10 h + c.
  const rows = Float32Array.of(0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112);
  const place = { slots: 4, first: 1, pair: axes.includes('pair') ? 1 : 0 };
  placeRows(found, place, rows, tensor);
  expect(tensor.filter((x) => x >= 0)).toHaveLength(rows.length);
  const at = (where: Readonly<Record<string, number>>) =>
    tensor[strides.reduce((sum, stride, i) => sum + stride * (where[axes[i] ?? ''] ?? 0), 0)];
  expect(at({ pair: place.pair, tokens: 1, heads: 1, channels: 2 })).toBe(12);
  expect(at({ pair: place.pair, tokens: 2, heads: 0, channels: 1 })).toBe(101);
  expect(takeRows(found, place, tensor, 2)).toEqual(rows);
});
