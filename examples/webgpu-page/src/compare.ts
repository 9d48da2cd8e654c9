/**
 * Stores the same tokens by several schemes, attends over each, and compares bytes and outputs with f16.
 */
import {
  type Backend,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type HostTensor,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';

export interface SchemeResult {
  readonly title: string;
  /** Codes, parameters and f16 windows of the tokens. */
  readonly bytes: number;
  /** Of `bytes`, against f16 rows. */
  readonly share: number;
  /** Relative L2 error of the attention output against f16. */
  readonly error: number;
}

const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: 8,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

const F16: Scheme = {
  specVersion: 1,
  id: 'f16',
  title: 'f16',
  sinks: 0,
  packing: 'before-attention',
  key: { bits: 16 },
  value: { bits: 16 },
  calibration: { kind: 'none' },
};

/** f16 first, then the schemes in order. */
export async function compareWithF16(
  backend: Backend,
  schemes: readonly Scheme[],
  tokens: number,
): Promise<SchemeResult[]> {
  const { kvHeads, queryHeads, keyHeadDim, valueHeadDim } = GEOMETRY;
  const rows = (seed: number, dim: number) => {
    const shape = [tokens, kvHeads, dim];
    return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);
  };
  const queryShape = [1, queryHeads, keyHeadDim];
  const input = {
    key: rows(1, keyHeadDim),
    value: rows(2, valueHeadDim),
    query: f32Tensor(lcgNormal({ seed: 3, shape: queryShape, dtype: 'f32' }), queryShape),
  };
  const plain = await run(backend, F16, input);
  const results = [{ title: F16.title, bytes: plain.bytes, share: 1, error: 0 }];
  for (const scheme of schemes) {
    const { bytes, output } = await run(backend, scheme, input);
    results.push({
      title: scheme.title,
      bytes,
      share: bytes / plain.bytes,
      error: relativeError(output, plain.output),
    });
  }
  return results;
}

interface Input {
  readonly key: HostTensor;
  readonly value: HostTensor;
  readonly query: HostTensor;
}

async function run(
  backend: Backend,
  scheme: Scheme,
  { key, value, query }: Input,
): Promise<{ readonly bytes: number; readonly output: Float32Array }> {
  const tokens = key.shape[0] as number;
  const cache = await createCache(createPlan(scheme, GEOMETRY), backend, { capacity: { tokens } });
  try {
    const sequence = cache.createSequence();
    await cache.append([{ sequence, tokens }], [{ key, value }]);
    const { output } = await cache.attend(0, query, [sequence]).read();
    const { codes, parameters, outliers, windows, statistics } = (await cache.stats()).bytes;
    const bytes = codes + parameters + outliers + windows + statistics;
    return { bytes, output: output.data as Float32Array };
  } finally {
    cache.dispose();
  }
}

function relativeError(actual: Float32Array, expected: Float32Array): number {
  let [difference, energy] = [0, 0];
  for (const [i, value] of expected.entries()) {
    difference += ((actual[i] as number) - value) ** 2;
    energy += value ** 2;
  }
  return Math.sqrt(difference / energy);
}
