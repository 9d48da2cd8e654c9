import { describe, expect, it } from 'vitest';
import type { LayerTensors } from '../src/decoder/decoder.js';
import { RotaryTable } from '../src/decoder/rotary.js';
import { openTiny } from './support/cut-and-whole.js';
import { FloatCache } from './support/float-cache.js';
import { type TinyDecoder, tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const frequencies = (count: number, base = 10_000) =>
  Array.from({ length: count }, (_, pair) => base ** (-pair / count));

function tableOf(list: readonly number[], positions: number, factor = 1, round = Math.fround) {
  const numbers = (f: (angle: number) => number) =>
    Float32Array.from({ length: positions * list.length }, (_, i) =>
      round(factor * f(Math.floor(i / list.length) * (list[i % list.length] ?? 0))),
    );
  return new RotaryTable('halves', list.length, numbers(Math.cos), numbers(Math.sin));
}

describe('frequencies of a table', () => {
  it('are exact for long contexts', () => {
    const list = frequencies(32, 500_000);
    const found = tableOf(list, 8192).embedding()?.frequencies ?? [];
    expect(found).toHaveLength(32);
    for (const [pair, frequency] of list.entries())
      expect(Math.abs((found[pair] ?? 0) / frequency - 1)).toBeLessThan(1e-4);
  });

  it('are none where a factor scales the table, or angles do not grow evenly', () => {
    expect(tableOf(frequencies(8), 64, 1.1).embedding()).toBeNull();
    const even = tableOf(frequencies(8), 64).embedding();
    expect(even?.pairs).toBe('halves');
    const bent = Float32Array.from({ length: 64 }, (_, position) => Math.cos(position ** 1.5));
    const sine = Float32Array.from({ length: 64 }, (_, position) => Math.sin(position ** 1.5));
    expect(new RotaryTable('halves', 1, bent, sine).embedding()).toBeNull();
  });
});

/** Keys of the last token of three, before and after the embedding. */
async function lastKeys(decoder: TinyDecoder) {
  const cut = await openTiny(decoder);
  const cache = new FloatCache(cut);
  const seen: LayerTensors[] = [];
  for (const [position, token] of [5, 9, 2].entries())
    await cut.forward([token], {
      position,
      attend: (layer, tensors) => {
        if (layer === 0) seen.push(tensors);
        return cache.attend(layer, tensors);
      },
    });
  await cut.dispose();
  return { rotary: cut.layers[0]?.geometry.rotary ?? null, tensors: seen.at(-1) };
}

describe('keys before the embedding', () => {
  it.each([
    ['halves', {}],
    ['adjacent', {}],
    ['halves', { rotaryDim: 8 }],
  ] as const)('turn into the others by the frequencies: %s %o', async (pairs, sizes) => {
    const { rotary, tensors } = await lastKeys(
      tinyDecoder(groupQuery({ rotary: 'node', pairs }), { sizes }),
    );
    const list = rotary?.frequencies ?? [];
    expect(list).toHaveLength('rotaryDim' in sizes ? 4 : 8);
    const turned = Float32Array.from(tensors?.keyPreRope ?? []);
    for (let head = 0; head < 2; head++)
      for (const [pair, frequency] of list.entries()) {
        const a = 16 * head + (pairs === 'halves' ? pair : 2 * pair);
        const b = pairs === 'halves' ? a + list.length : a + 1;
        const [x = 0, y = 0] = [turned[a], turned[b]];
        turned[a] = x * Math.cos(2 * frequency) - y * Math.sin(2 * frequency);
        turned[b] = x * Math.sin(2 * frequency) + y * Math.cos(2 * frequency);
      }
    expect(turned).toHaveLength(32);
    for (const [i, x] of turned.entries()) expect(x).toBeCloseTo(tensors?.key[i] ?? Number.NaN, 4);
    expect(tensors?.key).not.toEqual(tensors?.keyPreRope);
  });

  it('are not there where the graph turns keys itself', async () => {
    const { rotary, tensors } = await lastKeys(
      tinyDecoder(groupQuery({ rotary: 'node', tables: 'computed' })),
    );
    expect(rotary).toBeNull();
    expect(tensors?.keyPreRope).toBeNull();
  });
});
