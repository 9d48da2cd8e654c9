/**
 * Runs the exported encode graph of one tensor scheme in a plain session.
 */

import { exportOnnx } from '@lowbit-kv/backend-onnx';
import { createPlan, type Scheme, type TensorPlan, type TensorScheme } from '@lowbit-kv/core';
import * as ort from 'onnxruntime-node';
import { calibrationFor, scheme } from './schemes.js';

export interface Thresholds {
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly innerLow: number;
  readonly innerHigh: number;
}

export interface EncodedVector {
  readonly codes: Uint8Array;
  /** f16 bits by parameter name. */
  readonly parameters: Readonly<Record<string, Uint16Array>>;
  readonly entries: Uint8Array;
  readonly plan: TensorPlan;
}

/** Encodes f32 values `[tokens, 1, headDim]` of a single kv head. Thresholds are an input of the graph, not of the plan. */
export async function encodeOnce(
  value: TensorScheme,
  values: readonly number[],
  headDim: number,
  thresholds?: Thresholds,
): Promise<EncodedVector> {
  const target: Scheme = scheme({ key: { bits: 16 }, value });
  const geometry = {
    layers: 1,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: headDim,
    valueHeadDim: headDim,
  };
  const calibration = calibrationFor(target, geometry);
  const plan = createPlan(target, geometry, calibration === undefined ? {} : { calibration });
  const tensor = plan.layers[0]?.value as TensorPlan;
  const { encodeValue } = exportOnnx(plan, { layer: 0, tokens: 'float32' });
  const session = await ort.InferenceSession.create(encodeValue as Uint8Array);
  try {
    const feeds: Record<string, ort.Tensor> = {
      tokens: new ort.Tensor('float32', Float32Array.from(values), [
        values.length / headDim,
        1,
        headDim,
      ]),
    };
    if (thresholds !== undefined) {
      const { outerLow, outerHigh, innerLow, innerHigh } = thresholds;
      const edges = Float32Array.of(outerLow, outerHigh, innerLow, innerHigh);
      feeds.thresholds = new ort.Tensor('float32', edges, [4]);
    }
    const result = await session.run(feeds);
    const bits = (name: string) => {
      const data = result[name]?.data as unknown as Uint16Array;
      return new Uint16Array(data.buffer, data.byteOffset, data.length);
    };
    return {
      codes: result.codes?.data as Uint8Array,
      parameters: Object.fromEntries(
        (tensor.layout?.parameters ?? []).map(({ name }) => [name, bits(name)]),
      ),
      entries: (result.outlier_entries?.data as Uint8Array | undefined) ?? new Uint8Array(),
      plan: tensor,
    };
  } finally {
    await session.release();
  }
}

/** Code j of a row at bit `bits * j`, read bit by bit. */
export function readCodes(bytes: Uint8Array, count: number, bits: number): number[] {
  return Array.from({ length: count }, (_, j) => {
    let code = 0;
    for (let k = 0; k < bits; k++) {
      const bit = j * bits + k;
      code |= (((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1) << k;
    }
    return code;
  });
}

/** Two's complement in `bits` bits. */
export function signed(code: number, bits: number): number {
  return code >= 2 ** (bits - 1) ? code - 2 ** bits : code;
}
