/**
 * Reading a cache back: canonical blocks, and decoded tensors.
 */
import type { BlockStore } from '../backend.js';
import { decodeF16 } from '../float16.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { Transforms } from '../law/transforms.js';
import { canonicalizePage } from '../plan/canonical.js';
import type { LayerUnit, ModelLayer } from '../plan/model-layers.js';
import { type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import { f32Tensor, type HostTensor } from '../tensor.js';
import { readPages } from './read-pages.js';
import type { Entry, TensorState } from './tensor-state.js';

export interface ExportedBlock {
  /** Kv heads of the model layer in this block: all of them, unless overrides name single heads. */
  readonly heads: readonly number[];
  /** Position of the first token. */
  readonly position: number;
  readonly validTokens: number;
  /** Canonical page: `[heads, head block]` and the shared plane (docs/block-format.md). */
  readonly bytes: Uint8Array;
}

export interface MaterializedLayer {
  /** Position of each token held by every head; rising. */
  readonly keyPositions: readonly number[];
  readonly valuePositions: readonly number[];
  /** f32 `[tokens, kvHeads, headDim]`. */
  readonly key: HostTensor;
  readonly value: HostTensor;
}

/** Packed blocks of one tensor of each unit of a layer, in order, with everything past the valid tokens zeroed. */
export async function exportBlocks(
  store: BlockStore,
  { units }: ModelLayer,
  tensor: 'key' | 'value',
  states: readonly TensorState[],
): Promise<ExportedBlock[]> {
  const blocks = await Promise.all(units.map((unit) => blocksOf(store, unit, tensor, states)));
  return blocks.flat();
}

async function blocksOf(
  store: BlockStore,
  unit: LayerUnit,
  tensor: 'key' | 'value',
  states: readonly TensorState[],
): Promise<ExportedBlock[]> {
  const plan = unit.plan[tensor];
  const { heads } = unit.plan;
  const entries = (states[plan.class] as TensorState).entries.filter(
    (entry) => entry.kind === 'packed',
  );
  if (plan.layout === null || entries.length === 0) return [];
  const { layout } = plan;
  const pages = entries.map((entry) => entry.page);
  const bytes = await readPages(store, unit, tensor, 'packed', pages);
  return entries.map(({ position, count }, i) => {
    const page = bytes.slice(i * layout.pageBytes, (i + 1) * layout.pageBytes);
    canonicalizePage(layout, page, count);
    return { heads, position, validTokens: count, bytes: page };
  });
}

/** Decodes every token that all heads of a layer hold. */
export async function materialize(
  store: BlockStore,
  layer: ModelLayer,
  states: readonly TensorState[],
): Promise<MaterializedLayer> {
  const key = await materializeTensor(store, layer, 'key', states);
  const value = await materializeTensor(store, layer, 'value', states);
  return {
    key: key.tensor,
    keyPositions: key.positions,
    value: value.tensor,
    valuePositions: value.positions,
  };
}

async function materializeTensor(
  store: BlockStore,
  { units, geometry }: ModelLayer,
  tensor: 'key' | 'value',
  states: readonly TensorState[],
): Promise<DecodedTensor> {
  const parts = await Promise.all(
    units.map((unit) =>
      decodeUnit(store, unit, tensor, states[unit.plan[tensor].class] as TensorState),
    ),
  );
  const [first, ...others] = parts as [DecodedTensor, ...DecodedTensor[]];
  if (others.length === 0) return first;
  const rows = parts.map(({ positions }) => new Map(positions.map((position, i) => [position, i])));
  const positions = first.positions.filter((position) => rows.every((row) => row.has(position)));
  const { kvHeads } = geometry;
  const dim = first.tensor.shape[2] as number;
  const values = new Float32Array(positions.length * kvHeads * dim);
  for (const [u, { plan }] of units.entries()) {
    const { data } = (parts[u] as DecodedTensor).tensor;
    const rowOf = rows[u] as Map<number, number>;
    for (const [token, position] of positions.entries()) {
      for (const [i, head] of plan.heads.entries()) {
        const from = ((rowOf.get(position) as number) * plan.heads.length + i) * dim;
        values.set(data.subarray(from, from + dim), (token * kvHeads + head) * dim);
      }
    }
  }
  return { tensor: f32Tensor(values, [positions.length, kvHeads, dim]), positions };
}

interface DecodedTensor {
  /** f32 `[tokens, heads, headDim]`. */
  readonly tensor: HostTensor;
  readonly positions: readonly number[];
}

async function decodeUnit(
  store: BlockStore,
  unit: LayerUnit,
  tensor: 'key' | 'value',
  state: TensorState,
): Promise<DecodedTensor> {
  const plan = unit.plan[tensor];
  const { heads, headDim } = plan;
  const total = state.entries.reduce((sum, entry) => sum + entry.count, 0);
  const values = new Float32Array(total * heads * headDim);
  const positions: number[] = [];
  const statistics =
    state.statistics < 0
      ? null
      : bitsOf(await readPages(store, unit, tensor, 'statistics', [state.statistics]));
  const anyPacked = state.entries.some((entry) => entry.kind === 'packed');
  const transforms = anyPacked ? Transforms.of(plan, statistics) : null;
  const vector = new Float64Array(headDim);
  let row = 0;
  for (const entry of state.entries) {
    const page = await readPages(store, unit, tensor, entry.kind, [entry.page]);
    for (let head = 0; head < heads; head++) {
      const tokens = decodeEntry(plan, page, entry, head);
      for (let i = 0; i < entry.count; i++) {
        const to = ((row + i) * heads + head) * headDim;
        const decoded = tokens.subarray(i * headDim, (i + 1) * headDim);
        if (transforms === null || entry.kind !== 'packed') values.set(decoded, to);
        else {
          vector.set(decoded);
          transforms.invert(vector, 0, head, 1);
          values.set(vector, to);
        }
      }
    }
    for (let i = 0; i < entry.count; i++) positions.push(entry.position + i);
    row += entry.count;
  }
  return { tensor: f32Tensor(values, [total, heads, headDim]), positions };
}

/** f32 `[count, headDim]` of one head of an entry. */
function decodeEntry(plan: TensorPlan, page: Uint8Array, entry: Entry, head: number): Float32Array {
  const { headDim } = plan;
  if (entry.kind === 'packed') {
    const values = new Float32Array(entry.count * headDim);
    decodeTokens(plan as PackedTensorPlan, page, head, entry.slot, entry.count, values);
    return values;
  }
  const first = (head * WINDOW_PAGE_TOKENS + entry.slot) * headDim;
  return decodeF16(bitsOf(page).subarray(first, first + entry.count * headDim));
}

function bitsOf(bytes: Uint8Array): Uint16Array {
  return new Uint16Array(bytes.slice().buffer);
}
