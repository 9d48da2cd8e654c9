/**
 * Two caches of one plan, on the reference backend and on ONNX Runtime, driven by the same calls and compared after each.
 */

import { onnxBackend } from '@lowbit-kv/backend-onnx';
import {
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type HostTensor,
  type Plan,
  type PlanOptions,
  referenceBackend,
  type Scheme,
  type Sequence,
} from '@lowbit-kv/core';
import {
  lcgNormal,
  maxAbsDifference,
  nmse,
  ONNX_ATTENTION_LOG_SUM_EXP,
  ONNX_ATTENTION_OUTPUT,
} from '@lowbit-kv/core/testing';
import { expect } from 'vitest';
import { calibrationFor } from './schemes.js';

export interface TwinOptions extends PlanOptions {
  readonly tokens?: number;
  readonly sequences?: number;
  readonly rollback?: number;
  readonly nonFinite?: 'error' | 'mask';
}

/** A pair of sequences with equal history. */
export interface Pair {
  readonly reference: Sequence;
  readonly onnx: Sequence;
}

export interface Entry {
  readonly pair: Pair;
  readonly tokens: number;
}

export const backend = onnxBackend({ intraOpNumThreads: 1 });

export async function createTwin(
  scheme: Scheme,
  geometry: Geometry,
  options: TwinOptions = {},
): Promise<Twin> {
  const {
    tokens = 512,
    sequences = 4,
    rollback = 0,
    nonFinite = 'error',
    ...planOptions
  } = options;
  const calibration = calibrationFor(scheme, geometry.layers);
  const plan = createPlan(scheme, geometry, {
    ...planOptions,
    ...(calibration === undefined ? {} : { calibration }),
  });
  const capacity = { sequences, tokens: tokens * sequences };
  return new Twin(
    plan,
    await createCache(plan, referenceBackend(), { capacity, rollback, nonFinite }),
    await createCache(plan, backend, { capacity, rollback, nonFinite }),
  );
}

export class Twin {
  readonly plan: Plan;
  readonly reference: Cache;
  readonly onnx: Cache;
  #seed = 1;

  constructor(plan: Plan, reference: Cache, onnx: Cache) {
    this.plan = plan;
    this.reference = reference;
    this.onnx = onnx;
  }

  createPair(): Pair {
    return { reference: this.reference.createSequence(), onnx: this.onnx.createSequence() };
  }

  fork(pair: Pair): Pair {
    return {
      reference: this.reference.fork(pair.reference),
      onnx: this.onnx.fork(pair.onnx),
    };
  }

  truncate(pair: Pair, length: number): void {
    this.reference.truncate(pair.reference, length);
    this.onnx.truncate(pair.onnx, length);
  }

  /** One step with attention in every layer; outputs and log-sum-exp are compared, and must not be all zero. */
  async step(entries: readonly Entry[]): Promise<void> {
    const rows = entries.reduce((sum, entry) => sum + entry.tokens, 0);
    const inputs = this.plan.layers.map((layer) => {
      const { kvHeads, queryHeads, keyHeadDim, valueHeadDim } = layer.geometry;
      return {
        key: this.#drawn([rows, kvHeads, keyHeadDim]),
        value: this.#drawn([rows, kvHeads, valueHeadDim]),
        query: this.#queries([rows, queryHeads, keyHeadDim]),
      };
    });
    const results: { readonly output: HostTensor; readonly logSumExp: HostTensor | undefined }[][] =
      [];
    for (const side of ['reference', 'onnx'] as const) {
      const step = this[side].step(
        entries.map(({ pair, tokens }) => ({ sequence: pair[side], tokens })),
      );
      const pending = inputs.map(({ key, value, query }, layer) => {
        step.append(layer, key, value);
        return step.attend(layer, query, { logSumExp: true });
      });
      results.push(await Promise.all(pending.map((result) => result.read())));
      await step.commit();
    }
    for (const [layer, expected] of (results[0] ?? []).entries())
      compare(results[1]?.[layer], expected);
  }

  /** The same keys and values in every layer, without attention. */
  async append(pair: Pair, key: HostTensor, value: HostTensor): Promise<void> {
    const tokens = key.shape[0] as number;
    const layers = this.plan.layers.map(() => ({ key, value }));
    await this.reference.append([{ sequence: pair.reference, tokens }], layers);
    await this.onnx.append([{ sequence: pair.onnx, tokens }], layers);
  }

  /** Attention over committed tokens, `queries` per sequence. */
  async attend(pairs: readonly Pair[], queries: readonly number[]): Promise<void> {
    const total = queries.reduce((sum, n) => sum + n, 0);
    for (const { layer, geometry } of this.plan.layers) {
      const query = this.#queries([total, geometry.queryHeads, geometry.keyHeadDim]);
      const options = { queries, logSumExp: true };
      const expected = await this.reference
        .attend(
          layer,
          query,
          pairs.map((pair) => pair.reference),
          options,
        )
        .read();
      const actual = await this.onnx
        .attend(
          layer,
          query,
          pairs.map((pair) => pair.onnx),
          options,
        )
        .read();
      compare(actual, expected);
    }
  }

  /** Every packed block of both sides, byte for byte; returns how many there were. */
  async compareBlocks(pair: Pair): Promise<number> {
    let blocks = 0;
    for (const { layer } of this.plan.layers) {
      for (const tensor of ['key', 'value'] as const) {
        const expected = await this.reference.exportBlocks(pair.reference, layer, tensor);
        const actual = await this.onnx.exportBlocks(pair.onnx, layer, tensor);
        expect(actual.length).toBe(expected.length);
        for (const [i, block] of expected.entries()) {
          expect(actual[i]?.validTokens).toBe(block.validTokens);
          expect(firstDifference(actual[i]?.bytes ?? new Uint8Array(), block.bytes)).toBe(-1);
        }
        blocks += expected.length;
      }
    }
    return blocks;
  }

  dispose(): void {
    this.reference.dispose();
    this.onnx.dispose();
  }

  #drawn(shape: readonly number[]): HostTensor {
    const seed = this.#seed++;
    // A loud channel and a shifted one, so that channels cannot be swapped unnoticed.
    const channelOps = [
      { channel: seed % 7, mul: 4, add: 0 },
      { channel: 8 + (seed % 5), mul: 1, add: 1.5 },
    ];
    return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16', channelOps }), shape);
  }

  #queries(shape: readonly number[]): HostTensor {
    return f32Tensor(lcgNormal({ seed: this.#seed++, shape, dtype: 'f32' }), shape);
  }
}

function compare(
  actual: { readonly output: HostTensor; readonly logSumExp: HostTensor | undefined } | undefined,
  expected: { readonly output: HostTensor; readonly logSumExp: HostTensor | undefined },
): void {
  if (expected.output.data.length === 0) {
    expect(actual?.output.data.length).toBe(0);
    return;
  }
  const output = actual?.output.data ?? new Float32Array();
  expect(nmse(output, expected.output.data)).toBeLessThanOrEqual(ONNX_ATTENTION_OUTPUT.value);
  expect(
    maxAbsDifference(
      actual?.logSumExp?.data ?? new Float32Array(),
      expected.logSumExp?.data ?? new Float32Array(),
    ),
  ).toBeLessThanOrEqual(ONNX_ATTENTION_LOG_SUM_EXP.value);
}

/** Index of the first byte that differs, -1 when none does. */
export function firstDifference(actual: Uint8Array, expected: Uint8Array): number {
  if (actual.length !== expected.length) return Math.min(actual.length, expected.length);
  return actual.findIndex((byte, i) => byte !== expected[i]);
}
