/**
 * Packed pages of any plan, canonical but for outliers that are words: for a store, through kernels driven by numbers of the plan.
 */
import { outlierCapacityError, type PackWork, type TensorWork } from '@lowbit-kv/core';
import type { Stream } from '../driver/stream.js';
import type { OutlierWords } from '../pages/outlier-words.js';
import { packWords } from '../store/pack-words.js';
import type { PackContext, PackedPages } from '../store/packed-pages.js';
import { notCapturable } from '../store/step-session.js';
import { GeneralPack, type GeneralPackOptions, statisticsPacks } from './general-pack.js';

export interface GeneralPagesOptions extends GeneralPackOptions {
  /** Of the model, for errors. */
  readonly layer: number;
  /** Where its outliers are words, as `tensor` says too. */
  readonly words?: OutlierWords | undefined;
}

export class GeneralPages implements PackedPages {
  readonly #options: GeneralPagesOptions;
  readonly #general: GeneralPack;
  /** What tables depend on. */
  readonly #sizes: string;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks a kernel. */
  constructor(options: GeneralPagesOptions) {
    const { memory } = options;
    const { heads, headDim } = memory.plan;
    this.#options = options;
    this.#general = new GeneralPack(options);
    this.#sizes = [heads, headDim, memory.sizeOf('packed'), memory.sizeOf('statistics')].join();
  }

  measure(context: PackContext, statistics: TensorWork['statistics']): void {
    const stream = launchesOf(context);
    const table = this.#table(context, statistics, () => statisticsPacks(statistics));
    this.#general.measure(stream, { table, input: context.input.pointer }, statistics);
  }

  pack(context: PackContext, packs: readonly PackWork[]): void {
    const { flags, step, input } = context;
    const stream = launchesOf(context);
    const { memory, layer } = this.#options;
    const { plan } = memory;
    const fault =
      plan.layout?.sparse == null
        ? 0n
        : flags.register(step, (head) => outlierCapacityError(plan, head, layer));
    const table = this.#table(context, packs, () => packs);
    this.#general.pack(stream, { table, input: input.pointer }, packs, fault);
  }

  toCanonical(page: Uint8Array): Uint8Array {
    return this.#options.words?.toCanonical(page) ?? page;
  }

  fromCanonical(block: Uint8Array): Uint8Array {
    return this.#options.words?.fromCanonical(block) ?? block;
  }

  #table({ tables, step }: PackContext, work: object, packs: () => readonly PackWork[]): bigint {
    return tables.of(step, work, `general ${this.#sizes}`, () =>
      packWords(this.#options.memory, packs()),
    );
  }
}

/** Throws STEP_STATE in captured steps: how general kernels are launched depends on the work. */
function launchesOf({ launches, session }: PackContext): Stream {
  if (launches !== undefined && session === undefined) return launches;
  throw notCapturable(
    'packing by general kernels',
    'Run this step outside of the graph; `supports` says which plans have kernels of their own.',
  );
}
