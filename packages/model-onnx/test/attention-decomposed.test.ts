import { expect, it } from 'vitest';
import { runWhole } from './support/run-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { type DecomposedOptions, decomposed } from './support/tiny-decomposed.js';

const t = Array.from({ length: 24 }, (_, i) => (i * 7 + 3) % 50);
const pieces = [10, ...Array(14).fill(1)];
const forms: Record<string, DecomposedOptions & { mha?: boolean }> = {
  plain: {},
  rotary: {
    heads: 'rotary',
    repeat: 'tile',
    scale: 'query',
    mask: 'added-padding',
    pastLength: 'attention_mask',
  },
  node: { heads: 'rotary-node', scale: 'roots', guarded: true },
  split: { heads: 'split', scale: 'divided', mask: 'seen-and-padding', repeat: 'gather' },
  cf: {
    cache: 'channels-first',
    mha: true,
    scale: 'key',
    mask: 'where-seen',
    softmaxInFloat32: true,
    pastLength: 'attention_mask',
  },
  tf: {
    cache: 'tokens-first',
    scale: 'key-before-cache',
    mask: 'where-hidden',
    pastLength: 'attention_mask',
    softCap: 3,
  },
  none: { cache: 'none', sight: 'window' },
};
for (const [name, o] of Object.entries(forms))
  for (const elementType of ['float32', 'float16'] as const)
    it(`${name} ${elementType}`, async () => {
      const d = tinyDecoder(decomposed(o as object), {
        elementType,
        sizes: { kvHeads: o.mha ? 4 : 2 },
      });
      const a = await runWhole(d, t);
      console.log(name, elementType, a.slice(-3));
      if (name === 'none') return;
      const b = await runWhole(d, t, pieces);
      let m = 0;
      for (let i = 0; i < a.length; i++) m = Math.max(m, Math.abs(a[i]! - b[i]!));
      console.log(name, elementType, m);
      expect(m).toBeLessThan(elementType === 'float16' ? 0.05 : 1e-4);
    });
