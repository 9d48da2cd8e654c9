/**
 * Drawn keys, values and queries of programs.
 */
import { f32ToF16 } from '../float16.js';
import type { LayerPlan } from '../plan/plan.js';
import { f16Tensor, f32Tensor, type HostTensor } from '../tensor.js';
import type { TokenRows } from './class-model.js';
import { HEADS, KEY_DIM, QUERY_HEADS, VALUE_DIM } from './setups.js';

/** Normal-like values with an outlier now and then, and runs of equal values. */
export function drawnRows(draw: () => number): TokenRows {
  const fill = (size: number) =>
    Uint16Array.from({ length: size }, (_, i) => {
      const value = (draw() + draw() + draw() - 6144) / 2048;
      const outlier = draw() < 60 ? 8 : 1;
      return f32ToF16(i % 7 === 3 ? 0.25 : value * outlier);
    });
  return { key: fill(HEADS * KEY_DIM), value: fill(HEADS * VALUE_DIM) };
}

/** f32 `[rows, QUERY_HEADS, KEY_DIM]`. */
export function drawnQueries(draw: () => number, rows: number): HostTensor {
  const data = Float32Array.from(
    { length: rows * QUERY_HEADS * KEY_DIM },
    () => (draw() - 2048) / 1024,
  );
  return f32Tensor(data, [rows, QUERY_HEADS, KEY_DIM]);
}

/** f16 `[rows, HEADS, headDim]`. */
export function joinedRows(rows: readonly TokenRows[], tensor: 'key' | 'value'): HostTensor {
  const dim = tensor === 'key' ? KEY_DIM : VALUE_DIM;
  const data = new Uint16Array(rows.length * HEADS * dim);
  for (const [i, row] of rows.entries()) data.set(row[tensor], i * HEADS * dim);
  return f16Tensor(data, [rows.length, HEADS, dim]);
}

/** What a unit is given of the rows of every layer. */
export function rowsOfHeads(
  rows: readonly TokenRows[][],
  { layer, heads }: LayerPlan,
): TokenRows[] {
  return (rows[layer] ?? []).map(({ key, value }) => {
    const pick = (bits: Uint16Array, dim: number) =>
      Uint16Array.from(heads.flatMap((head) => [...bits.subarray(head * dim, (head + 1) * dim)]));
    return { key: pick(key, KEY_DIM), value: pick(value, VALUE_DIM) };
  });
}
