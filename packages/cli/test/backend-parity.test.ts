// Every preset on both backends: packed blocks are equal byte by byte, attention agrees.

import { onnxBackend } from '@lowbit-kv/backend-onnx';
import {
  type AttentionResult,
  type Backend,
  type Cache,
  type Calibration,
  createCache,
  createCalibration,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type HostTensor,
  referenceBackend,
  type Scheme,
} from '@lowbit-kv/core';
import {
  lcgNormal,
  maxAbsDifference,
  nmse,
  ONNX_ATTENTION_LOG_SUM_EXP,
  ONNX_ATTENTION_OUTPUT,
} from '@lowbit-kv/core/testing';
import { presets as innerq } from '@lowbit-kv/scheme-innerq';
import { presets as kivi } from '@lowbit-kv/scheme-kivi';
import { presets as oaken } from '@lowbit-kv/scheme-oaken';
import { describe, expect, test } from 'vitest';

const HEAD_DIM = 128;
const KV_HEADS = 2;
const QUERY_HEADS = 4;
const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: QUERY_HEADS,
  kvHeads: KV_HEADS,
  keyHeadDim: HEAD_DIM,
  valueHeadDim: HEAD_DIM,
};

/**
 * New tokens of three sequences per step. Windows, flushes and blocks of every preset are crossed: InnerQ packs its first
 * 32 when 32 + 256 tokens are there for its statistics, KIVI's keys at 128 and 256.
 */
const STEPS: readonly (readonly number[])[] = [
  [290, 100, 1],
  [1, 27, 1],
  [40, 1, 0],
  [1, 130, 3],
];

/** Normal values with two large channels, as keys have. */
function draws<Dtype extends 'f16' | 'f32'>(
  dtype: Dtype,
  seed: number,
  rows: number,
  heads: number,
) {
  const channelOps = [5, 77].map((channel) => ({ channel, mul: 8, add: 0 }));
  return lcgNormal({ seed, shape: [rows, heads, HEAD_DIM], dtype, channelOps });
}

const f16 = (seed: number, rows: number) =>
  f16Tensor(draws('f16', seed, rows, KV_HEADS), [rows, KV_HEADS, HEAD_DIM]);

async function calibrationOf(scheme: Scheme): Promise<Calibration | undefined> {
  if (scheme.calibration.kind !== 'offline') return undefined;
  const samples = async function* () {
    const [key, value] = [draws('f32', 90, 256, KV_HEADS), draws('f32', 91, 256, KV_HEADS)];
    yield { layer: 0, tokens: 256, kvHeads: KV_HEADS, key, value };
  };
  return createCalibration(scheme, samples(), { text: 'draws of this test' });
}

interface Run {
  readonly cache: Cache;
  readonly blocks: readonly Uint8Array[];
  readonly packed: readonly { readonly key: number; readonly value: number }[];
  readonly outputs: readonly HostTensor[];
  readonly logSumExps: readonly HostTensor[];
}

async function runOn(backend: Backend, scheme: Scheme): Promise<Run> {
  const calibration = await calibrationOf(scheme);
  const plan = createPlan(scheme, GEOMETRY, calibration === undefined ? {} : { calibration });
  const cache = await createCache(plan, backend, { capacity: { tokens: 1024, sequences: 3 } });
  const sequences = [0, 1, 2].map(() => cache.createSequence());
  const results: AttentionResult[] = [];
  for (const [number, tokens] of STEPS.entries()) {
    const rows = tokens.reduce((sum, count) => sum + count, 0);
    const step = cache.step(sequences.map((sequence, i) => ({ sequence, tokens: tokens[i] ?? 0 })));
    step.append(0, f16(10 * number, rows), f16(10 * number + 1, rows));
    // A prompt asks for its last two tokens only.
    const queries = tokens.map((count) => Math.min(count, 2));
    const total = queries.reduce((sum, count) => sum + count, 0);
    const query = f32Tensor(draws('f32', 10 * number + 2, total, QUERY_HEADS), [
      total,
      QUERY_HEADS,
      HEAD_DIM,
    ]);
    results.push(step.attend(0, query, { queries, logSumExp: true }));
    await step.commit();
  }
  const read = await Promise.all(results.map((result) => result.read()));
  const blocks: Uint8Array[] = [];
  for (const sequence of sequences)
    for (const tensor of ['key', 'value'] as const)
      for (const block of await cache.exportBlocks(sequence, 0, tensor)) blocks.push(block.bytes);
  const { sequences: held } = await cache.stats();
  return {
    cache,
    blocks,
    packed: held.map(({ classes }) => {
      const of = (tensor: string) => classes.find((c) => c.tensor === tensor)?.packed ?? 0;
      return { key: of('key'), value: of('value') };
    }),
    outputs: read.map(({ output }) => output),
    logSumExps: read.map(({ logSumExp }) => logSumExp as HostTensor),
  };
}

describe.each([...kivi, ...innerq, ...oaken])('$id', (scheme) => {
  test('reference and ONNX agree', async () => {
    const reference = await runOn(referenceBackend(), scheme);
    const onnx = await runOn(onnxBackend({ intraOpNumThreads: 1 }), scheme);

    // Something of each tensor is packed, and something is not.
    expect(reference.packed[0]?.key).toBeGreaterThan(0);
    expect(reference.packed[0]?.value).toBeGreaterThan(0);
    expect(onnx.packed).toEqual(reference.packed);

    expect(onnx.blocks.length).toBe(reference.blocks.length);
    for (const [i, block] of reference.blocks.entries()) {
      expect(block.some((byte) => byte !== 0)).toBe(true);
      expect(Buffer.compare(onnx.blocks[i] as Uint8Array, block), `block ${i}`).toBe(0);
    }

    for (const [i, expected] of reference.outputs.entries()) {
      expect(expected.data.every((value) => value === 0)).toBe(false);
      const difference = nmse(onnx.outputs[i]?.data as Float32Array, expected.data);
      expect(difference, `step ${i}`).toBeLessThanOrEqual(ONNX_ATTENTION_OUTPUT.value);
      const logarithms = maxAbsDifference(
        onnx.logSumExps[i]?.data as Float32Array,
        (reference.logSumExps[i] as HostTensor).data,
      );
      expect(logarithms, `step ${i}`).toBeLessThanOrEqual(ONNX_ATTENTION_LOG_SUM_EXP.value);
    }
    reference.cache.dispose();
    onnx.cache.dispose();
  });
});
