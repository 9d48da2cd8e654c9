// Case long-memory-accounting: the promised bytes are there, and the reported bytes are those of real buffers.
import { describe, expect, it, vi } from 'vitest';
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  type Geometry,
  planBytes,
  referenceBackend,
  type Scheme,
} from '../../src/index.js';
import { lcgNormal } from '../../src/testing/index.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

/** Bytes of the typed arrays made by a length while `act` runs. */
async function bytesMade(act: () => Promise<unknown>): Promise<number> {
  let bytes = 0;
  for (const type of [Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array]) {
    const construct = (target: typeof type, args: unknown[]) => {
      const made = Reflect.construct(target, args) as Uint8Array;
      if (typeof args[0] === 'number') bytes += made.byteLength;
      return made;
    };
    vi.stubGlobal(type.name, new Proxy(type, { construct }));
  }
  await act().finally(() => vi.unstubAllGlobals());
  return bytes;
}

interface Case {
  scheme: 'kivi' | 'symmetric';
  bits: 2 | 3 | 4;
  G: number;
  metaBitsPerGroup: number;
  residual: number;
}
interface Input {
  config: { layers: number; Hk: number; T: number; D: number };
  cases: Case[];
}
interface Expected {
  bitsPerElement: number[];
  bytesTotal: number[];
  f16Bytes: number;
}
const { input, expected } = loadCase<Input, Expected>('long-memory-accounting');
const { layers, Hk, T, D } = input.config;
/** Steady state: pages in use. */
const SHARE = 0.03;
/** The pool also holds the pages of a step in flight. */
const POOL_SHARE = 0.04;

const geometry: Geometry = {
  layers,
  queryHeads: Hk,
  kvHeads: Hk,
  keyHeadDim: D,
  valueHeadDim: D,
};

/** `kivi`: keys along tokens flush when full, values slide. `symmetric`: one scale and no zero per group. */
function schemeOf({ scheme: kind, bits, G, residual }: Case): Scheme {
  const codes = kind === 'symmetric' ? 'signmag' : 'asymmetric';
  return scheme({
    key: { bits, along: 'tokens', size: G, codes, flush: residual },
    value: { bits, along: 'channels', size: G, codes, recent: residual },
  });
}

const rows = input.cases.map((entry, i) => ({
  ...entry,
  bitsPerElement: expected.bitsPerElement[i] as number,
  bytesTotal: expected.bytesTotal[i] as number,
}));

describe.each(rows)('$scheme, $bits bit, groups of $G', (entry) => {
  const { bitsPerElement, bytesTotal, bits, G, metaBitsPerGroup } = entry;
  const plan = createPlan(schemeOf(entry), geometry);

  it('the plan at full size holds what the case computes', () => {
    expect(bits + metaBitsPerGroup / G).toBe(bitsPerElement);
    for (const { key, value } of plan.layers) {
      for (const { layout } of [key, value]) {
        if (layout === null) throw new Error('packed');
        // Blocks of full planes have no padding here: a page is exactly its bits.
        expect((layout.pageBytes * 8) / (layout.blockTokens * Hk * D)).toBe(bitsPerElement);
      }
    }
    const bytes = planBytes(plan, T);
    expect(Math.abs(bytes.total / bytesTotal - 1)).toBeLessThan(SHARE);
    expect(bytes.f16Total).toBe(expected.f16Bytes);
    expect(bytes.codes + bytes.parameters + bytes.windows + bytes.alignment).toBe(bytes.total);
  });

  it('one layer, allocated and packed, holds what is reported', async () => {
    const layerPlan = createPlan(schemeOf(entry), { ...geometry, layers: 1 });
    let cache: Cache | undefined;
    const made = await bytesMade(async () => {
      cache = await createCache(layerPlan, referenceBackend(), { capacity: { tokens: T } });
    });
    if (cache === undefined) throw new Error('no cache was made');
    const { allocated } = (await cache.stats()).bytes;
    // The page pools keep a few bytes per page beside the pages.
    expect(made).toBeGreaterThanOrEqual(allocated);
    expect(made - allocated).toBeLessThan(1e5);
    expect(Math.abs((allocated * layers) / bytesTotal - 1)).toBeLessThan(POOL_SHARE);

    const sequence = cache.createSequence();
    // A stretch of normal data, over and over: the bytes do not depend on the values.
    const stretch = lcgNormal({ seed: 3, shape: [64, Hk, D], dtype: 'f16' });
    const data = new Uint16Array(T * Hk * D);
    for (let at = 0; at < data.length; at += stretch.length) data.set(stretch, at);
    const prompt = f16Tensor(data, [T, Hk, D]);
    const callers = data.byteLength;
    await cache.append([{ sequence, tokens: T }], [{ key: prompt, value: prompt }]);

    const { bytes } = await cache.stats();
    expect(bytes.live + bytes.free).toBe(allocated);
    expect(bytes.live).toBe(planBytes(layerPlan, T).total);
    expect(bytes.codes).toBe(planBytes(layerPlan, T).codes);
    expect(bytes.parameters).toBe(planBytes(layerPlan, T).parameters);
    expect(bytes.windows).toBe(entry.residual * Hk * D * 2);
    expect(Math.abs((bytes.live * layers) / bytesTotal - 1)).toBeLessThan(SHARE);
    // During the prefill of a layer there are the pages of all layers and this layer's own K and V.
    expect(allocated * layers + 2 * callers).toBeLessThan(expected.f16Bytes);

    const blocks = await cache.exportBlocks(sequence, 0, 'key');
    const packed = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    expect(packed * 8).toBe(T * Hk * D * bitsPerElement);
    expect(blocks.every((block) => block.bytes.some((byte) => byte !== 0))).toBe(true);
    cache.dispose();
  });
});
