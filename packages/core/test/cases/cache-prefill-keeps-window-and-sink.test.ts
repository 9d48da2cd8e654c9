// Case cache-prefill-keeps-window-and-sink: a prompt packed in one step keeps its sinks and its recent window exact.
import { expect, it } from 'vitest';
import { decodeF16, f16Tensor, type HostTensor, type Scheme } from '../../src/index.js';
import { headsFirstToRagged, lcgNormal, type NormalRecipe } from '../../src/testing/index.js';
import { firstDifference, openCache } from '../support/pointer-cache.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Run {
  prompt: number;
  window: number;
  sink: number;
}
interface Input {
  data: NormalRecipe<'f16'>;
  runs: Run[];
  bits: 2;
  G: 32;
}
interface Expected {
  quantizedCounts: { prompt: number; window?: number; quantized: number }[];
}
const { input, expected } = loadCase<Input, Expected>('cache-prefill-keeps-window-and-sink');
const [, heads, tokens, dim] = input.data.shape as [number, number, number, number];
const data = headsFirstToRagged(lcgNormal(input.data), { heads, tokens, dim });
const exact = decodeF16(data);

/** Keys along tokens and values along channels, or the mirror; both flush 32 tokens at a time. */
function schemeOf({ window, sink }: Run, keysAlong: 'tokens' | 'channels'): Scheme {
  const shared = { bits: input.bits, size: input.G, recent: window, flush: input.G };
  const valuesAlong = keysAlong === 'tokens' ? 'channels' : 'tokens';
  return scheme({
    sinks: sink,
    key: { ...shared, along: keysAlong },
    value: { ...shared, along: valuesAlong },
  });
}

const rows = input.runs.flatMap((run, index) =>
  (['tokens', 'channels'] as const).map((keysAlong) => ({ ...run, index, keysAlong })),
);

it.each(rows)(
  'prompt $prompt, window $window, sink $sink, keys along $keysAlong',
  async ({ prompt, window, sink, index, keysAlong }) => {
    const cache = await openCache(schemeOf({ prompt, window, sink }, keysAlong), {
      queryHeads: heads,
      kvHeads: heads,
      keyHeadDim: dim,
      valueHeadDim: dim,
    });
    const sequence = cache.createSequence();
    const prefix = f16Tensor(data.slice(0, prompt * heads * dim), [prompt, heads, dim]);
    await cache.append([{ sequence, tokens: prompt }], [{ key: prefix, value: prefix }]);

    const { quantized } = expected.quantizedCounts[index] as { quantized: number };
    expect(quantized).toBe(Math.max(Math.floor((prompt - sink - window) / input.G) * input.G, 0));
    const classes = (await cache.stats()).sequences.flatMap((held) => held.classes);
    const sinks = Math.min(sink, prompt);
    const counts = { packed: quantized, sinks, tail: prompt - sinks - quantized };
    expect(classes).toEqual([
      expect.objectContaining({ tensor: 'key', ...counts }),
      expect.objectContaining({ tensor: 'value', ...counts }),
    ]);

    const stored = await cache.materialize(sequence, 0);
    for (const tensor of [stored.key, stored.value]) {
      const same = exactTokens(tensor, prompt);
      const kept = (first: number, end: number) => same.slice(first, end).every((ok) => ok);
      expect(kept(0, sinks)).toBe(true);
      expect(kept(prompt - Math.min(window, prompt), prompt)).toBe(true);
      expect(kept(sinks + quantized, prompt)).toBe(true);
      // Two bits cannot hold normal data: everything else really is packed.
      expect(same.slice(sinks, sinks + quantized).some((ok) => ok)).toBe(false);
    }
    // Token 0 is 32 away from all others: a group that held it would lose them.
    const worst = largestError(stored.key, sinks, Math.min(sinks + input.G, prompt));
    if (quantized > 0 && sink > 0) expect(worst).toBeLessThan(1.5);
    if (quantized > 0 && sink === 0 && keysAlong === 'tokens') expect(worst).toBeGreaterThan(1.5);
    const [block] = await cache.exportBlocks(sequence, 0, 'key');
    expect(block?.position).toBe(quantized > 0 ? sinks : undefined);
  },
);

function exactTokens(tensor: HostTensor, count: number): boolean[] {
  const width = heads * dim;
  return Array.from(
    { length: count },
    (_, t) =>
      firstDifference(
        tensor.data.subarray(t * width, (t + 1) * width),
        exact.subarray(t * width, (t + 1) * width),
      ) === -1,
  );
}

function largestError(tensor: HostTensor, first: number, end: number): number {
  let worst = 0;
  for (let i = first * heads * dim; i < end * heads * dim; i++)
    worst = Math.max(worst, Math.abs((tensor.data[i] as number) - (exact[i] as number)));
  return worst;
}
