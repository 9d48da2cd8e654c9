// Pages of 128 tokens with head dim 128: attention in integer dot products, bytes in the order it reduces over.
import { createPlan } from '@lowbit-kv/core';
import { createTwin } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  channelScaled,
  inlineScheme,
  type SchemeParts,
  symmetric,
} from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { codeOrder } from '../src/shaders/code-order.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { INTEGER_ATTENTION } from './support/tolerances.js';

const device = await swiftShaderDevice();
const backend = webgpuBackend({
  device,
  wgslLanguageFeatures: new Set(['packed_4x8_integer_dot_product']),
});

const window = { recent: 8, flush: 4 };
const PARTS: Readonly<Record<string, SchemeParts>> = {
  'keys along tokens, values along channels, 4 and 2 bit': {
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(2, 'channels', 64, window),
    sinks: 3,
  },
  'scaled keys along channels, values along tokens, 2 and 8 bit': {
    key: channelScaled(symmetric(2, 'full', 'channels', 32, window), 24),
    value: symmetric(8, 'fullSigned', 'tokens', 128),
    packing: 'after-attention',
  },
};

for (const [name, parts] of Object.entries(PARTS)) {
  it(name, { timeout: 120_000 }, async () => {
    const plan = createPlan(inlineScheme(parts), {
      layers: 1,
      queryHeads: 2,
      kvHeads: 1,
      keyHeadDim: 128,
      valueHeadDim: 128,
    });
    const [layer] = plan.layers;
    expect(layer && codeOrder(layer)).toBe('reduction');
    const twin = await createTwin(plan, backend, { tolerances: INTEGER_ATTENTION });
    try {
      const pair = twin.createPair();
      // Without attention, which SwiftShader takes long for.
      await twin.grow(pair, 150);
      await twin.step([{ pair, tokens: 9 }]);
      await twin.grow(pair, 130);
      await twin.step([{ pair, tokens: 1 }]);
      expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
      twin.truncate(pair, 135);
      await twin.step([{ pair, tokens: 3 }]);
      await twin.compareBlocks(pair);
    } finally {
      twin.dispose();
    }
  });
}
