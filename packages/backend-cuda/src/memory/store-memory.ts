/**
 * The pages of all layers of a cache: all of them, or none.
 */
import type {
  PackedTensorPlan,
  PageCounts,
  PageRequest,
  Plan,
  StoreOptions,
  TensorPlan,
} from '@lowbit-kv/core';
import type { Stream } from '../driver/stream.js';
import { pageLayout, pageShapeOf } from '../pages/page-layout.js';
import { TensorMemory } from './tensor-memory.js';

const NO_PAGES: PageCounts = { packed: 0, window: 0, statistics: 0 };

export interface LayerMemory {
  readonly key: TensorMemory;
  readonly value: TensorMemory;
}

/** Of one head of a packed page. */
function pieceBytes(tensor: TensorPlan): number {
  return tensor.layout === null ? 0 : pageLayout(pageShapeOf(tensor as PackedTensorPlan)).bytes;
}

export class StoreMemory {
  /** As `Plan.layers`. */
  readonly layers: readonly LayerMemory[];

  private constructor(layers: readonly LayerMemory[]) {
    this.layers = layers;
  }

  /**
   * Zeros, in order with the stream. When memory runs out (DEVICE_OUT_OF_MEMORY), what was allocated before is freed. Throws
   * PLAN_REFUSED for tensors that have no layout.
   */
  static allocate(stream: Stream, plan: Plan, pages: StoreOptions['pages']): StoreMemory {
    const made: TensorMemory[] = [];
    const allocate = (tensor: TensorPlan) => {
      const bytes = pieceBytes(tensor);
      const counts = pages[tensor.class] ?? NO_PAGES;
      const memory = TensorMemory.allocate(stream, tensor, counts, bytes);
      made.push(memory);
      return memory;
    };
    try {
      return new StoreMemory(
        plan.layers.map(({ key, value }) => ({ key: allocate(key), value: allocate(value) })),
      );
    } catch (error) {
      for (const memory of made) memory.dispose();
      throw error;
    }
  }

  get allocatedBytes(): number {
    return this.layers.reduce((sum, { key, value }) => sum + key.bytes + value.bytes, 0);
  }

  of({ layer, tensor }: Pick<PageRequest, 'layer' | 'tensor'>): TensorMemory | undefined {
    return this.layers[layer]?.[tensor];
  }

  /** Work that reads or writes pages must have run. */
  dispose(): void {
    for (const { key, value } of this.layers) {
      key.dispose();
      value.dispose();
    }
  }
}
