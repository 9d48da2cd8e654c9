/**
 * A decoder in plain TypeScript with random weights: attention layers on a residual stream, so that the second layer
 * depends on the attention of the first.
 */
import { type Geometry, RotaryRotation, resolveGeometry } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';
import type { Decoder, ForwardOptions, LayerTensors } from '../../src/decoder/decoder.js';

const HIDDEN = 24;

export interface ToyOptions {
  readonly geometry: Geometry;
  readonly seed?: number;
  /** Channels of keys that are this many times larger than the others. */
  readonly outlier?: number;
}

export function toyDecoder({ geometry, seed = 1, outlier = 1 }: ToyOptions): Decoder {
  const layers = resolveGeometry(geometry);
  const vocabularySize = 40;
  const draws = createDraws(seed);
  const matrix = (rows: number, columns: number, size: number) =>
    Float32Array.from({ length: rows * columns }, () => (draws() / 2048 - 1) * size);
  const embedding = matrix(vocabularySize, HIDDEN, 2);
  const head = matrix(HIDDEN, vocabularySize, 0.5);
  const weights = layers.map(({ queryHeads, kvHeads, keyHeadDim, valueHeadDim }) => {
    const key = matrix(HIDDEN, kvHeads * keyHeadDim, 0.3);
    for (let i = 3; i < key.length; i += 16) key[i] = (key[i] as number) * outlier;
    return {
      query: matrix(HIDDEN, queryHeads * keyHeadDim, 0.3),
      key,
      value: matrix(HIDDEN, kvHeads * valueHeadDim, 0.3),
      output: matrix(queryHeads * valueHeadDim, HIDDEN, 0.3),
    };
  });
  const rotations = layers.map(({ rotary }) =>
    rotary === null ? null : new RotaryRotation(rotary),
  );
  const rotated = (
    rows: Float32Array,
    layer: number,
    heads: number,
    dim: number,
    position: number,
  ) => {
    const rotation = rotations[layer];
    if (rotation === null || rotation === undefined) return rows;
    const vector = new Float64Array(dim);
    const result = rows.slice();
    for (let at = 0; at < rows.length; at += dim) {
      vector.set(rows.subarray(at, at + dim));
      rotation.rotate(vector, 0, position + Math.floor(at / (heads * dim)));
      result.set(vector, at);
    }
    return result;
  };
  return {
    geometry,
    layers: layers.map((shape) => ({ geometry: shape, form: 'toy' })),
    vocabularySize,
    contextLimit: null,
    fingerprint: `toy-${seed}`,
    async forward(tokens: readonly number[], options: ForwardOptions) {
      const { position, attend, onLogits, rows = 'all' } = options;
      let hidden = new Float32Array(tokens.length * HIDDEN);
      for (const [i, token] of tokens.entries())
        hidden.set(embedding.subarray(token * HIDDEN, (token + 1) * HIDDEN), i * HIDDEN);
      for (const [layer, shape] of layers.entries()) {
        const { queryHeads, kvHeads, keyHeadDim } = shape;
        const weight = weights[layer] as (typeof weights)[number];
        const input = normalised(hidden);
        const query = product(input, weight.query, HIDDEN);
        const keyPreRope = product(input, weight.key, HIDDEN);
        const tensors: LayerTensors = {
          query: rotated(query, layer, queryHeads, keyHeadDim, position),
          key: rotated(keyPreRope, layer, kvHeads, keyHeadDim, position),
          keyPreRope: shape.rotary === null ? null : keyPreRope,
          value: product(input, weight.value, HIDDEN),
        };
        const attended = await attend(layer, tensors);
        const update = product(attended, weight.output, attended.length / tokens.length);
        hidden = hidden.map((x, i) => x + (update[i] as number));
      }
      if (onLogits === undefined) return;
      const first = rows === 'last' ? tokens.length - 1 : 0;
      onLogits(first, product(normalised(hidden.subarray(first * HIDDEN)), head, HIDDEN));
    },
    dispose: async () => undefined,
  };
}

/** Seeded tokens of a toy decoder. */
export function toyTokens(count: number, seed = 7): number[] {
  const draws = createDraws(seed);
  return Array.from({ length: count }, () => draws() % 40);
}

/** `[rows, inner] x [inner, columns]`. */
function product(rows: Float32Array, matrix: Float32Array, inner: number): Float32Array {
  const columns = matrix.length / inner;
  const result = new Float32Array((rows.length / inner) * columns);
  for (let row = 0; row < rows.length / inner; row++) {
    for (let i = 0; i < inner; i++) {
      const x = rows[row * inner + i] as number;
      for (let c = 0; c < columns; c++)
        result[row * columns + c] =
          (result[row * columns + c] as number) + x * (matrix[i * columns + c] as number);
    }
  }
  return result;
}

/** Rows of HIDDEN entries with root mean square 1. */
function normalised(rows: Float32Array): Float32Array {
  const result = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at += HIDDEN) {
    const row = rows.subarray(at, at + HIDDEN);
    const size = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / HIDDEN);
    for (const [i, x] of row.entries()) result[at + i] = x / size;
  }
  return result;
}
