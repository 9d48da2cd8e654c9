/**
 * Plans whose attention meets codes in integers, and a program that runs one of them against the reference: several splits,
 * ragged sequences, queries of one and of many tokens, a cut.
 */
import { createPlan, type Plan, type QuantizedTensorScheme } from '@lowbit-kv/core';
import { createTwin, FAST_ATTENTION, INTEGER_ATTENTION } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  channelScaled,
  inlineScheme,
  type SchemeParts,
  symmetric,
} from '@lowbit-kv/core/testing';
import { type WebGpuBackendOptions, webgpuBackend } from '../../src/index.js';
import { BANDS, bandPlan, INTEGER_GEOMETRY } from './band-plans.js';

const window = { recent: 8, flush: 4 };

const turned = (tensor: QuantizedTensorScheme): QuantizedTensorScheme => ({
  ...tensor,
  transforms: [{ kind: 'hadamard', seed: 7 }],
});

const PARTS = {
  outer: {
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(2, 'channels', 64, window),
    sinks: 3,
  },
  inner: {
    key: channelScaled(symmetric(2, 'full', 'channels', 32, window), 24),
    value: symmetric(8, 'fullSigned', 'tokens', 128),
    packing: 'after-attention',
  },
  'signed scales': {
    key: symmetric(4, 'fullSigned', 'tokens', 32),
    value: symmetric(4, 'fullSigned', 'channels', 32, window),
  },
  sliding: {
    key: asymmetric(4, 'tokens', 128),
    value: asymmetric(4, 'channels', 128, window),
  },
  'inner, 3 bit': {
    key: symmetric(3, 'full', 'channels', 32, window),
    value: symmetric(3, 'signmag', 'tokens', 32),
  },
  // Packed through rows of f32.
  'outer, 3 bit': {
    key: turned(asymmetric(3, 'tokens', 64)),
    value: turned(asymmetric(3, 'channels', 32, window)),
    sinks: 3,
  },
  'sliding, 3 bit and more': {
    key: symmetric(3, 'fullSigned', 'tokens', 32),
    value: asymmetric(4, 'tokens', 64),
  },
  bands: BANDS,
} satisfies Record<string, SchemeParts>;

export type IntegerPlan = keyof typeof PARTS;

export const INTEGER_PLANS = Object.keys(PARTS) as IntegerPlan[];

const isSliding = (name: IntegerPlan) => name.startsWith('sliding');

export function integerPlan(name: IntegerPlan): Plan {
  if (name === 'bands') return bandPlan('usual');
  const geometry = {
    ...INTEGER_GEOMETRY,
    ...(isSliding(name) && { slidingWindow: { size: 150, sinks: 4 } }),
  };
  // Short windows have shorter blocks unless told otherwise.
  return createPlan(inlineScheme(PARTS[name]), geometry, { blockTokens: 128 });
}

export async function runIntegerPlan(
  device: GPUDevice,
  name: IntegerPlan,
  precision: NonNullable<WebGpuBackendOptions['precision']> = 'exact',
): Promise<number> {
  const backend = webgpuBackend({
    device,
    precision,
    wgslLanguageFeatures: new Set(['packed_4x8_integer_dot_product']),
  });
  const twin = await createTwin(integerPlan(name), backend, {
    tolerances: precision === 'exact' ? INTEGER_ATTENTION : FAST_ATTENTION,
  });
  try {
    const [long, short] = [twin.createPair(), twin.createPair()];
    // Without attention, which SwiftShader takes long for.
    await twin.grow(long, 290);
    await twin.step([
      { pair: long, tokens: 3 },
      { pair: short, tokens: 5 },
    ]);
    await twin.step([{ pair: long, tokens: 1 }]);
    let blocks = await twin.compareBlocks(long);
    if (!isSliding(name)) {
      twin.truncate(long, 135);
      await twin.step([{ pair: long, tokens: 3 }]);
      blocks += await twin.compareBlocks(long);
    }
    return blocks;
  } finally {
    twin.dispose();
    backend.dispose();
  }
}
