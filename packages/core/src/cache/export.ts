/**
 * Reading a cache back: canonical blocks, and decoded tensors.
 */
import type { BlockStore } from '../backend.js';
import { decodeF16 } from '../float16.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { Transforms } from '../law/transforms.js';
import { canonicalizePage } from '../plan/canonical.js';
import { type LayerPlan, type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import { f32Tensor, type HostTensor } from '../tensor.js';
import { readPages } from './read-pages.js';
import type { Entry, TensorState } from './tensor-state.js';

export interface ExportedBlock {
  /** Position of the first token. */
  readonly position: number;
  readonly validTokens: number;
  /** Canonical page: `[heads, head block]` and the shared plane (docs/block-format.md). */
  readonly bytes: Uint8Array;
}

export interface MaterializedLayer {
  /** Position of each token held; rising. */
  readonly keyPositions: readonly number[];
  readonly valuePositions: readonly number[];
  /** f32 `[tokens, kvHeads, headDim]`. */
  readonly key: HostTensor;
  readonly value: HostTensor;
}

/** Packed blocks of one tensor, in order, with everything past the valid tokens zeroed. */
export async function exportBlocks(
  store: BlockStore,
  plan: TensorPlan,
  layer: number,
  states: readonly TensorState[],
): Promise<ExportedBlock[]> {
  const entries = (states[plan.class] as TensorState).entries.filter(
    (entry) => entry.kind === 'packed',
  );
  if (plan.layout === null || entries.length === 0) return [];
  const { layout } = plan;
  const pages = entries.map((entry) => entry.page);
  const bytes = await readPages(store, plan, layer, 'packed', pages);
  return entries.map((entry, i) => {
    const page = bytes.slice(i * layout.pageBytes, (i + 1) * layout.pageBytes);
    canonicalizePage(layout, page, entry.count);
    return { position: entry.position, validTokens: entry.count, bytes: page };
  });
}

/** Decodes every token a sequence holds in one layer. */
export async function materialize(
  store: BlockStore,
  plan: LayerPlan,
  states: readonly TensorState[],
): Promise<MaterializedLayer> {
  const key = await materializeTensor(
    store,
    plan.key,
    plan.layer,
    states[plan.key.class] as TensorState,
  );
  const value = await materializeTensor(
    store,
    plan.value,
    plan.layer,
    states[plan.value.class] as TensorState,
  );
  return {
    key: key.tensor,
    keyPositions: key.positions,
    value: value.tensor,
    valuePositions: value.positions,
  };
}

async function materializeTensor(
  store: BlockStore,
  plan: TensorPlan,
  layer: number,
  state: TensorState,
) {
  const { heads, headDim } = plan;
  const total = state.entries.reduce((sum, entry) => sum + entry.count, 0);
  const values = new Float32Array(total * heads * headDim);
  const positions: number[] = [];
  const statistics =
    state.statistics < 0
      ? null
      : bitsOf(await readPages(store, plan, layer, 'statistics', [state.statistics]));
  const anyPacked = state.entries.some((entry) => entry.kind === 'packed');
  const transforms = anyPacked ? Transforms.of(plan, statistics) : null;
  const vector = new Float64Array(headDim);
  let row = 0;
  for (const entry of state.entries) {
    const page = await readPages(store, plan, layer, entry.kind, [entry.page]);
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
