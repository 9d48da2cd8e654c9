import { describe, expect, it } from 'vitest';
import { tokenSlices } from '../src/decoder/token-slices.js';
import { farthest, openTiny, TOLERANCE } from './support/cut-and-whole.js';
import { FloatCache } from './support/float-cache.js';
import { runWhole } from './support/run-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { decomposed } from './support/tiny-decomposed.js';
import { groupQuery } from './support/tiny-group-query.js';

const WINDOW = Array.from({ length: 600 }, (_, i) => (i * i * 3 + i) % 50);
const LONG = { sizes: { positions: 1024, layers: 1 } };

describe('logits of a long window', () => {
  const forms = {
    'rows of attention': groupQuery(),
    'heads of attention, of shapes that the graph computes': decomposed({ heads: 'rotary' }),
  };
  it.each(Object.entries(forms))('come in slices and equal the whole: %s', async (_name, form) => {
    const decoder = tinyDecoder(form, LONG);
    const whole = await runWhole(decoder, WINDOW);
    const cut = await openTiny(decoder, undefined, { logitsBytes: 256 * 4 * 50 });
    const slices: [number, number][] = [];
    const all = new Float32Array(whole.length);
    await cut.forward(WINDOW, {
      position: 0,
      attend: new FloatCache(cut).attend,
      onLogits: (row, logits) => {
        slices.push([row, logits.length / cut.vocabularySize]);
        all.set(logits, row * cut.vocabularySize);
      },
    });
    expect(slices).toEqual([
      [0, 200],
      [200, 200],
      [400, 200],
    ]);
    expect(farthest(all, whole)).toBeLessThan(TOLERANCE.float32);

    const last: [number, Float32Array][] = [];
    await cut.forward(WINDOW, {
      position: 0,
      rows: 'last',
      attend: new FloatCache(cut).attend,
      onLogits: (row, logits) => last.push([row, logits.slice()]),
    });
    expect(last.map(([row]) => row)).toEqual([599]);
    const [, row = new Float32Array()] = last[0] ?? [];
    expect(farthest(row, whole.slice(-cut.vocabularySize))).toBeLessThan(TOLERANCE.float32);
    await cut.dispose();
  });

  it('are not made when nobody wants them', async () => {
    const cut = await openTiny(tinyDecoder(groupQuery()));
    const attended: number[] = [];
    const cache = new FloatCache(cut);
    await cut.forward([1, 2, 3], {
      position: 0,
      attend: (layer, tensors) => {
        attended.push(layer);
        return cache.attend(layer, tensors);
      },
    });
    expect(attended).toEqual([0, 1]);
    await cut.dispose();
  });
});

describe('slices of tokens', () => {
  const edge = (tokens: number) => ({
    type: 'float32',
    data: Float32Array.from({ length: tokens * 2 }, (_, i) => i),
    dims: [1, tokens, 2],
  });
  const wanted = { first: 299, end: 300 };

  it('hold the wanted tokens alone', () => {
    const slices = [...tokenSlices({ hidden: edge(300) }, { tokenWise: true }, 300, wanted, 256)];
    const hidden = { type: 'float32', data: Float32Array.of(598, 599), dims: [1, 1, 2] };
    expect(slices).toEqual([{ first: 299, end: 300, feeds: { hidden } }]);
  });

  it.each([
    [300, [300]],
    [299, [150, 150]],
    [100, [100, 100, 100]],
    [99, [75, 75, 75, 75]],
    [1, Array(300).fill(1)],
  ])('are as even as can be: at most %i of 300 tokens', (most, lengths) => {
    const all = { first: 0, end: 300 };
    const slices = [...tokenSlices({ hidden: edge(300) }, { tokenWise: true }, 300, all, most)];
    expect(slices.map(({ first, end }) => end - first)).toEqual(lengths);
    const values = slices.flatMap(({ feeds }) => [...((feeds.hidden?.data ?? []) as Float32Array)]);
    expect(values).toEqual([...edge(300).data]);
  });

  it('are one where tokens cannot be cut apart', () => {
    const feeds = { hidden: edge(300) };
    const whole = [{ first: 0, end: 300, feeds }];
    expect([...tokenSlices(feeds, { tokenWise: false }, 300, wanted, 256)]).toEqual(whole);
    const flat = { hidden: { ...edge(300), dims: [300, 2] } };
    expect([...tokenSlices(flat, { tokenWise: true }, 300, wanted, 256)]).toEqual([
      { first: 0, end: 300, feeds: flat },
    ]);
  });
});
