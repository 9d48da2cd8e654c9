import { expect, it } from 'vitest';
import { GraphView } from '../src/attention/graph-view.js';
import { maskGraph } from '../src/cut/mask-graph.js';
import { openTiny, sitesOf } from './support/cut-and-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { type DecomposedOptions, decomposed } from './support/tiny-decomposed.js';
import { type Sight, WIDE_WINDOW, WINDOW } from './support/tiny-masks.js';
import { multiHead } from './support/tiny-multi-head.js';

const tiny = (options: DecomposedOptions) => tinyDecoder(decomposed(options));

/** Windows of its layers, and its limit. */
async function probed(options: DecomposedOptions, config: unknown = {}) {
  const { layers, contextLimit, dispose } = await openTiny(tiny(options), config);
  await dispose();
  return [layers.map(({ geometry }) => geometry.slidingWindow?.size), contextLimit];
}

it('passes causal masks and finds windows, also those that few tokens do not show', async () => {
  expect(await probed({ sight: 'causal' })).toEqual([[undefined, undefined], null]);
  expect(await probed({ sight: 'window' })).toEqual([[WINDOW, WINDOW], null]);
  const wide = [[WIDE_WINDOW, WIDE_WINDOW], null];
  expect(await probed({ sight: 'wide-window' })).toEqual(wide);
  expect(await probed({ sight: 'wide-window', cache: 'none' })).toEqual(wide);
});

it('ends the context before a window that no probe reaches', async () => {
  expect(await probed({}, { sliding_window: 5000 })).toEqual([[undefined, undefined], 5000]);
  const short = { max_position_embeddings: 32 };
  expect(await probed({ sight: 'wide-window' }, short)).toEqual([[undefined, undefined], 32]);
});

it('runs masks without the layers, whose heads are replaced by their lengths', () => {
  const decoder = tiny({ maskPerLayer: true, heads: 'rotary', mask: 'added-padding' });
  const sites = sitesOf(decoder);
  const names = sites.flatMap(({ masks }) => masks.map(({ name }) => name));
  expect(new Set(names).size).toBe(2);
  const { nodes, standIns, integers } = maskGraph(new GraphView(decoder.model), sites, names);
  const operators = nodes.map((node) => node.opType);
  expect(operators).toContain('Concat');
  expect(operators).not.toContain('MatMul');
  expect(standIns).toEqual(
    [...sites].reverse().map(({ key }) => ({
      name: key.name,
      type: 'float32',
      dims: [1, 2, null, 16],
    })),
  );
  expect(integers).not.toContain(WINDOW);
});

it('refuses masks that are no causal ones, by node', async () => {
  const reasons: Readonly<Partial<Record<Sight, RegExp>>> = {
    bidirectional: /lets query 0 see position 1/,
    hole: /hides position 3 from query 5/,
    alibi: /adds -0\.5 to query 1 and position 0/,
  };
  for (const [sight, reason] of Object.entries(reasons) as [Sight, RegExp][]) {
    const opening = openTiny(tiny({ sight }));
    await expect(opening).rejects.toThrow(reason);
    await expect(opening).rejects.toThrow(
      /MODEL_UNSUPPORTED.*softmax_0 and 1 more.*past-injection/,
    );
  }
  await expect(
    openTiny(tinyDecoder(multiHead({ mask: 'alibi' }), { sizes: { kvHeads: 4 } })),
  ).rejects.toThrow(/MultiHeadAttention: its mask adds/);
});

it('refuses a mask that changes with the tokens, whatever they are', async () => {
  await expect(
    openTiny(tiny({ sight: 'content', cache: 'none', mask: 'where-seen' })),
  ).rejects.toThrow(/its mask changes with the tokens/);
});
