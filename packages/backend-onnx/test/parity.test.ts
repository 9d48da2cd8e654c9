/**
 * The two implementations agree on every kind of plan: bytes exactly, attention within the named tolerances.
 */
import type { Geometry, QuantizedTensorScheme, TensorScheme } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  type SchemeParts,
  scheme,
  symmetric,
} from './support/schemes.js';
import { createTwin } from './support/twin.js';

const geometry: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

const quantizers: Record<string, QuantizedTensorScheme> = {};
for (const along of ['tokens', 'channels'] as const) {
  for (const bits of [1, 2, 3, 4, 8] as const) {
    quantizers[`asymmetric ${bits} bit along ${along}`] = asymmetric(bits, along, 32);
    for (const codes of ['signmag', 'full', 'fullSigned'] as const) {
      if (codes === 'signmag' && bits === 1) continue;
      quantizers[`symmetric ${codes} ${bits} bit along ${along}`] = symmetric(
        bits,
        codes,
        along,
        32,
      );
    }
  }
  for (const bits of [2, 3, 4] as const) {
    quantizers[`hybrid full ${bits} bit along ${along}`] = hybrid(
      bits,
      'full',
      bits,
      'symmetric',
      along,
      32,
    );
    quantizers[`hybrid signmag ${bits} bit along ${along}`] = hybrid(
      bits,
      'signmag',
      bits - 1,
      'asymmetric',
      along,
      16,
    );
  }
}
for (const middle of ['midRise', 'uniform'] as const) {
  for (const scope of ['head', 'allHeads'] as const) {
    quantizers[`bands ${middle} ${scope}`] = bands(middle, scope);
  }
}

describe('every quantizer on keys and values', () => {
  it.each(Object.entries(quantizers))('%s', async (_, tensor) => {
    await runMixed({ key: tensor, value: tensor }, { ...geometry, layers: 1 });
  });
});

const f16: TensorScheme = { bits: 16 };
const plans: Record<string, SchemeParts> = {
  'nothing packed': { key: f16, value: f16 },
  'keys only': { key: asymmetric(4, 'tokens', 32), value: f16 },
  'values only': { key: f16, value: symmetric(3, 'full', 'channels', 32) },
  'window and sinks, packed after attention': {
    key: asymmetric(2, 'tokens', 32, { recent: 0, flush: 32 }),
    value: asymmetric(2, 'channels', 32, { recent: 32, flush: 1 }),
    sinks: 4,
    packing: 'after-attention',
  },
  'window and sinks, packed before attention': {
    key: symmetric(3, 'signmag', 'channels', 32, { recent: 16, flush: 8 }),
    value: hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, { recent: 24, flush: 32 }),
    sinks: 5,
  },
  'channel scale of keys': {
    key: channelScaled(symmetric(3, 'signmag', 'channels', 32, { recent: 8, flush: 4 }), 24),
    value: symmetric(3, 'signmag', 'tokens', 32),
    sinks: 3,
  },
  'channel scale without spread': {
    key: channelScaled(asymmetric(4, 'tokens', 16), 24, 100),
    value: asymmetric(4, 'tokens', 16),
  },
  'bands with a window and a tight reserve': {
    key: bands('midRise', 'head', 40, { recent: 8, flush: 4 }),
    value: bands('uniform', 'allHeads', 48, { recent: 0, flush: 16 }),
    sinks: 2,
  },
};

describe('windows, sinks and transforms', () => {
  it.each(Object.entries(plans))('%s', async (_, parts) => {
    await runMixed(parts);
  });
});

describe('head dims', () => {
  it.each([
    [64, 64],
    [80, 80],
    [96, 96],
    [112, 112],
    [128, 128],
    [192, 192],
    [256, 256],
    [192, 128],
    [64, 96],
  ])('keys %i, values %i', async (keyHeadDim, valueHeadDim) => {
    const shape = { layers: 1, queryHeads: 3, kvHeads: 1, keyHeadDim, valueHeadDim };
    await runMixed(
      { key: asymmetric(3, 'tokens', 16), value: symmetric(3, 'fullSigned', 'channels', 16) },
      shape,
    );
    await runMixed({ key: bands('uniform', 'head'), value: bands('midRise', 'allHeads') }, shape);
  });
});

/** Long and short sequences, many-token and one-token steps, a fork and a cut. */
async function runMixed(parts: SchemeParts, shape: Geometry = geometry): Promise<void> {
  const twin = await createTwin(scheme(parts), shape, { blockTokens: 64 });
  try {
    const [a, b] = [twin.createPair(), twin.createPair()];
    await twin.attend([a, b], [1, 1]);
    await twin.step([
      { pair: a, tokens: 101 },
      { pair: b, tokens: 7 },
    ]);
    await twin.step([
      { pair: a, tokens: 1 },
      { pair: b, tokens: 30 },
    ]);
    const fork = twin.fork(a);
    await twin.step([
      { pair: a, tokens: 33 },
      { pair: b, tokens: 0 },
      { pair: fork, tokens: 2 },
    ]);
    twin.truncate(a, 75);
    await twin.attend([a, fork, b], [3, 1, 2]);
    await twin.step([
      { pair: a, tokens: 40 },
      { pair: b, tokens: 3 },
    ]);
    let blocks = 0;
    for (const pair of [a, b, fork]) blocks += await twin.compareBlocks(pair);
    expect(blocks > 0).toBe(parts.key.bits !== 16 || parts.value.bits !== 16);
  } finally {
    twin.dispose();
  }
}
