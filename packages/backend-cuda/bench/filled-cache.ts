/**
 * Caches full of tokens, packed by `append` as a prompt and then steps would: ragged lengths, pages in no order.
 */
import { type Cache, createCache, f32ToF16, type Plan, type Sequence } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';
import { type CudaBackend, cudaTensor, DeviceMemory } from '../src/index.js';

export interface FilledCache {
  readonly cache: Cache;
  readonly sequences: readonly Sequence[];
  dispose(): void;
}

const CHUNK = 4096;
/** Sources of rows that differ: what one chunk appends is not what the next one does. */
const SHIFTS = 61;

/** Sequences of these lengths. Values are normal. */
export async function fillCache(
  backend: CudaBackend,
  plan: Plan,
  lengths: readonly number[],
): Promise<FilledCache> {
  const { context } = await backend.open();
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const capacity = { sequences: lengths.length + 64, tokens: tokens + 256 * (lengths.length + 64) };
  const cache = await createCache(plan, backend, { capacity, nonFinite: 'mask' });
  const widest = Math.max(
    ...plan.layers.map(({ geometry }) => geometry.kvHeads * geometry.keyHeadDim),
  );
  const memory = DeviceMemory.allocate(context, 2 * widest * (CHUNK + SHIFTS));
  memory.all.upload(new Uint8Array(rowsOf(widest * (CHUNK + SHIFTS)).buffer));
  const draw = createDraws(7);
  const append = async (sequence: Sequence, count: number) => {
    const shift = draw() % SHIFTS;
    await cache.append(
      [{ sequence, tokens: count }],
      plan.layers.map(({ geometry: { kvHeads, keyHeadDim, valueHeadDim } }, layer) => {
        const tensor = (headDim: number, row: number) =>
          cudaTensor(memory.all, {
            type: 'f16',
            shape: [count, kvHeads, headDim],
            offset: ((shift + row + 7 * layer) % SHIFTS) * kvHeads * headDim,
          });
        return { key: tensor(keyHeadDim, 0), value: tensor(valueHeadDim, 13) };
      }),
    );
  };
  await scatterPages(cache, append, draw, tokens);
  const sequences = lengths.map(() => cache.createSequence());
  const open = sequences.map((sequence, i) => ({ sequence, left: lengths[i] as number }));
  while (open.some(({ left }) => left > 0)) {
    for (const entry of open) {
      const count = Math.min(entry.left, CHUNK - 128 * (draw() % 8));
      if (count > 0) await append(entry.sequence, count);
      entry.left -= count;
    }
  }
  return {
    cache,
    sequences,
    dispose() {
      cache.dispose();
      memory.dispose();
    },
  };
}

/** Takes most pages and gives them back in another order. */
async function scatterPages(
  cache: Cache,
  append: (sequence: Sequence, count: number) => Promise<void>,
  draw: () => number,
  tokens: number,
): Promise<void> {
  const held = Array.from({ length: 60 }, () => cache.createSequence());
  const count = Math.min(CHUNK, Math.floor(tokens / 64));
  if (count < 256) return;
  for (const sequence of held) await append(sequence, count);
  while (held.length > 0) {
    const [sequence] = held.splice(draw() % held.length, 1);
    cache.disposeSequence(sequence as Sequence);
  }
}

function rowsOf(count: number): Uint16Array {
  const draw = createDraws(11);
  const uniform = () => (draw() * 4096 + draw() + 0.5) / 2 ** 24;
  const table = Uint16Array.from({ length: 65_537 }, () =>
    f32ToF16(Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())),
  );
  return Uint16Array.from({ length: count }, (_, i) => table[(i * 31 + (draw() & 7)) % 65_537]!);
}
