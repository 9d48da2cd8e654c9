// The table of windows in docs/concepts.md is what the window law says of the preset that it names.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createPlan, type PageClass, windowCounts } from '../../../packages/core/src/index.js';
import { kivi } from '../../../packages/scheme-kivi/src/index.js';
import { tableIn } from '../src/markdown-tables.js';

test('tokens packed and in f16 of kivi-2bit-g32', () => {
  const text = readFileSync(new URL('../../../docs/concepts.md', import.meta.url), 'utf8');
  const { rows } = tableIn(text, 'tokens so far', 'keys packed', 'keys in f16', 'values packed');
  const heads = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
  const plan = createPlan(kivi({ bits: 2 }), heads);
  const [layer] = plan.layers;
  expect(rows.length).toBeGreaterThan(2);
  for (const row of rows) {
    const [length = 0, ...shown] = row.map(Number);
    const counts = [layer?.key.class, layer?.value.class].flatMap((index) => {
      const { sinks, packed, tail } = windowCounts(plan.classes[index ?? 0] as PageClass, length);
      return [packed, sinks + tail];
    });
    expect(shown, `${length} tokens`).toEqual(counts);
  }
});
