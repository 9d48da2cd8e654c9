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
import { disposeAll } from '../driver/dispose-all.js';
import type { Stream } from '../driver/stream.js';
import { pageLayout, pageShapeOf, pagesOfBlock } from '../pages/page-layout.js';
import { TensorMemory } from './tensor-memory.js';

const NO_PAGES: PageCounts = { packed: 0, window: 0, statistics: 0 };

export interface LayerMemory {
  readonly key: TensorMemory;
  readonly value: TensorMemory;
}

/** Bytes of the pages in fragment order that hold a block. */
export function fragmentPageBytes(tensor: TensorPlan): number {
  if (tensor.layout === null) return 0;
  const packed = tensor as PackedTensorPlan;
  return pagesOfBlock(packed) * tensor.heads * pageLayout(pageShapeOf(packed)).bytes;
}

export class StoreMemory {
  /** As `Plan.layers`. */
  readonly layers: readonly LayerMemory[];

  private constructor(layers: readonly LayerMemory[]) {
    this.layers = layers;
  }

  /**
   * Zeros, in order with the stream. `packedBytes` gives those of a packed page of a tensor of a layer. When memory runs
   * out (DEVICE_OUT_OF_MEMORY), what was allocated before is freed.
   */
  static allocate(
    stream: Stream,
    plan: Plan,
    pages: StoreOptions['pages'],
    packedBytes: (tensor: TensorPlan, layer: number) => number,
  ): StoreMemory {
    const made: TensorMemory[] = [];
    const allocate = (tensor: TensorPlan, layer: number) => {
      const counts = pages[tensor.class] ?? NO_PAGES;
      const memory = TensorMemory.allocate(stream, tensor, counts, packedBytes(tensor, layer));
      made.push(memory);
      return memory;
    };
    try {
      return new StoreMemory(
        plan.layers.map(({ key, value }, layer) => ({
          key: allocate(key, layer),
          value: allocate(value, layer),
        })),
      );
    } catch (error) {
      disposeAll(made);
      throw error;
    }
  }

  get allocatedBytes(): number {
    return this.layers.reduce((sum, { key, value }) => sum + key.pageBytes + value.pageBytes, 0);
  }

  of({ layer, tensor }: Pick<PageRequest, 'layer' | 'tensor'>): TensorMemory | undefined {
    return this.layers[layer]?.[tensor];
  }

  /** Work that reads or writes pages must have run. */
  dispose(): void {
    disposeAll(this.layers.flatMap(({ key, value }) => [key, value]));
  }
}
