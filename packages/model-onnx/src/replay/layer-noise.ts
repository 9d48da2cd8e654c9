/**
 * How far one layer is off in one window: keys and values as held, and attention outputs at sampled positions, against f32
 * attention with the layer's own queries, keys and values.
 */
import type { LayerGeometry } from '@lowbit-kv/core';
import { addSums, type ErrorSum, errorSum, type LayerNotes } from '@lowbit-kv/harness';
import type { LayerTensors } from '../decoder/decoder.js';
import type { AttentionSession } from './attention-graph.js';
import { lastQuerySeeing } from './schedule.js';

/** An odd step meets every phase of windows that pack 32 or 128 tokens at once. */
const SAMPLE_STEP = 15;
/** How many of the last sampled positions tell keys from values: they see the window as it is held at its end. */
const CAUSE_POSITIONS = 8;

interface KeysAndValues {
  readonly key: Float32Array;
  readonly value: Float32Array;
}

/** Positions of a window whose outputs are compared: the last one among them. */
export function sampledPositions(tokens: number): Int32Array {
  const count = Math.ceil(tokens / SAMPLE_STEP);
  return Int32Array.from({ length: count }, (_, i) => tokens - 1 - (count - 1 - i) * SAMPLE_STEP);
}

/** Outputs `[positions, queryHeads, valueHeadDim]` over unrounded keys and values of a whole window. */
export function exactOutputs(
  { query, key, value }: Pick<LayerTensors, 'query' | 'key' | 'value'>,
  { queryHeads, kvHeads, keyHeadDim, slidingWindow }: LayerGeometry,
  positions: Int32Array,
  session: AttentionSession,
): Promise<Float32Array> {
  const columns = key.length / (kvHeads * keyHeadDim);
  return session.attend({
    query: rowsAt(query, queryHeads * keyHeadDim, positions),
    positions,
    key,
    value,
    from: Int32Array.from({ length: columns }, (_, i) => i),
    to: Int32Array.from({ length: columns }, (_, i) => lastQuerySeeing(slidingWindow, i, columns)),
  });
}

/** Sums of squares per query head. `outputs` are rows of sampled positions, as `exact`. */
export function headErrors(
  outputs: Float32Array,
  exact: Float32Array,
  { queryHeads, valueHeadDim }: LayerGeometry,
): ErrorSum[] {
  const width = queryHeads * valueHeadDim;
  return Array.from({ length: queryHeads }, (_, head) => {
    const sums: ErrorSum[] = [];
    for (let at = head * valueHeadDim; at < exact.length; at += width)
      sums.push(errorSum(outputs, exact, at, at + valueHeadDim));
    return addSums(sums);
  });
}

/** What keys alone and values alone do to the last sampled outputs, of which `exact` are the rows. */
export async function outputCauses(
  held: KeysAndValues,
  tensors: Pick<LayerTensors, 'query' | 'key' | 'value'>,
  geometry: LayerGeometry,
  positions: Int32Array,
  exact: Float32Array,
  session: AttentionSession,
): Promise<NonNullable<LayerNotes['causes']>> {
  const last = positions.subarray(-CAUSE_POSITIONS);
  const width = geometry.queryHeads * geometry.valueHeadDim;
  const reference = exact.subarray(-last.length * width);
  const errorWith = async (changed: Partial<KeysAndValues>) =>
    errorSum(await exactOutputs({ ...tensors, ...changed }, geometry, last, session), reference);
  return {
    keysOnly: await errorWith({ key: held.key }),
    valuesOnly: await errorWith({ value: held.value }),
  };
}

/** Rows of `[tokens, width]` at some positions. */
export function rowsAt(all: Float32Array, width: number, positions: Int32Array): Float32Array {
  const rows = new Float32Array(positions.length * width);
  for (const [i, position] of positions.entries())
    rows.set(all.subarray(position * width, (position + 1) * width), i * width);
  return rows;
}

/** What an evaluation notes of a layer. */
export function layerNotes(
  held: KeysAndValues,
  exact: KeysAndValues,
  heads: readonly ErrorSum[],
): LayerNotes {
  return { key: errorSum(held.key, exact.key), value: errorSum(held.value, exact.value), heads };
}
