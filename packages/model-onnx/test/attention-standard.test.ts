import { expect, it } from 'vitest';
import { runWhole } from './support/run-whole.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { standardAttention } from './support/tiny-standard.js';

const t = Array.from({ length: 24 }, (_, i) => (i * 7 + 3) % 50);
const pieces = [10, ...Array(14).fill(1)];
for (const [name, o] of Object.entries({
  rows: {},
  halves: { rotary: 'halves' },
  adj4: { rotary: 'adjacent', inputs: 'heads-first' },
  masked: { mask: { sight: 'causal', kind: 'added' } },
  boolean: { inputs: 'heads-first', mask: { sight: 'causal', kind: 'boolean' } },
  cap: { attributes: { softcap: { float: 2 }, scale: { float: 0.4 } } },
  nopast: { past: false },
  capmask: {
    mask: { sight: 'causal', kind: 'added' },
    attributes: { softcap: { float: 2 }, scale: { float: 0.4 } },
  },
  capbool: {
    mask: { sight: 'causal', kind: 'boolean' },
    attributes: { softcap: { float: 2 }, scale: { float: 0.4 } },
  },
} as const))
  for (const opset of [23, 24])
    for (const elementType of ['float32', 'float16'] as const)
      it(`${name} ${elementType} ${opset}`, async () => {
        const d = tinyDecoder(standardAttention(o as object), { opset, elementType });
        const a = await runWhole(d, t);
        console.log(name, elementType, opset, a.slice(-3));
        if (name in { nopast: 1, packed: 1, packedkv: 1, hf: 1, hfbias: 1 }) return;
        const b = await runWhole(d, t, pieces);
        let m = 0;
        for (let i = 0; i < a.length; i++) m = Math.max(m, Math.abs(a[i]! - b[i]!));
        console.log(name, elementType, m);
        expect(m).toBeLessThan(elementType === 'float16' ? 0.05 : 1e-4);
      });
