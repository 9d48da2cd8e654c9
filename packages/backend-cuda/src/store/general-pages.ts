/**
 * Packed pages that are canonical blocks: what every plan without kernels of its own has.
 */
import type { PackWork, TensorWork } from '@lowbit-kv/core';
import type { DeviceTensor } from '../general/device-tensor.js';
import { GeneralPack, type GeneralWork, statisticsPacks } from '../general/general-pack.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import type { Runtime } from '../runtime.js';
import { outlierCapacity } from './outlier-capacity.js';
import { packWords } from './pack-words.js';
import type { PackContext, PackedPages } from './packed-pages.js';

export class GeneralPages implements PackedPages {
  readonly #memory: TensorMemory;
  readonly #pack: GeneralPack;
  /** Of the model. */
  readonly #layer: number;

  /** Throws KERNEL_IMAGE_INVALID. */
  constructor(runtime: Runtime, memory: TensorMemory, tensor: DeviceTensor, layer: number) {
    this.#memory = memory;
    this.#layer = layer;
    this.#pack = new GeneralPack({
      module: runtime.module('general'),
      memory,
      tensor,
      scratch: runtime.pool,
    });
  }

  measure(context: PackContext, statistics: TensorWork['statistics']): void {
    const work = this.#work(context, statistics, () => statisticsPacks(statistics));
    this.#pack.measure(context.stream, work, statistics);
  }

  pack(context: PackContext, packs: readonly PackWork[]): void {
    const { plan } = this.#memory;
    const fault =
      plan.layout?.sparse == null
        ? 0n
        : context.flags.register(context.step, (head) => outlierCapacity(plan, this.#layer, head));
    this.#pack.pack(context.stream, this.#work(context, packs, () => packs), packs, fault);
  }

  #work(
    { tables, step, input }: PackContext,
    work: object,
    packs: () => readonly PackWork[],
  ): GeneralWork {
    const memory = this.#memory;
    const { heads, headDim } = memory.plan;
    const sizes = `${heads} ${headDim} ${memory.sizeOf('packed')} ${memory.sizeOf('statistics')}`;
    return {
      table: tables.of(step, work, sizes, () => packWords(memory, packs())),
      input: input.pointer,
    };
  }

  toCanonical(page: Uint8Array): Uint8Array {
    return page;
  }

  fromCanonical(block: Uint8Array): Uint8Array {
    return block;
  }
}
