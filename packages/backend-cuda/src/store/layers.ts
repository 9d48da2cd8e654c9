/**
 * The layers of a cache on a card: their pages, and the kernels that work on them.
 */
import { type LayerPlan, LowbitKvError, type Plan, type StoreOptions } from '@lowbit-kv/core';
import { type AttentionLaunch, LayerAttention } from '../attend/layer-attention.js';
import { PAGE_TOKENS } from '../attend/structs.js';
import { chooseInstance } from '../choose-instance.js';
import { type KernelInstance, packInstanceOf } from '../instances.js';
import { fragmentPageBytes, type LayerMemory, StoreMemory } from '../memory/store-memory.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import type { Runtime } from '../runtime.js';
import { FragmentPages } from './fragment-pages.js';
import type { PackedPages } from './packed-pages.js';

export interface LayerTensor {
  readonly memory: TensorMemory;
  /** Undefined where the tensor stays f16. */
  readonly pages: PackedPages | undefined;
}

export interface Layer {
  readonly plan: LayerPlan;
  readonly key: LayerTensor;
  readonly value: LayerTensor;
  readonly attention: AttentionLaunch;
  /** Of packed pages. */
  readonly pageTokens: { readonly key: number; readonly value: number };
}

/** Throws DEVICE_OUT_OF_MEMORY, PLAN_REFUSED for plans without kernels, KERNEL_IMAGE_INVALID. */
export function createLayers(
  runtime: Runtime,
  plan: Plan,
  { pages }: StoreOptions,
): { readonly memory: StoreMemory; readonly layers: readonly Layer[] } {
  const instances = plan.layers.map((layer) => requireInstance(layer));
  const memory = StoreMemory.allocate(runtime.stream, plan, pages, fragmentPageBytes);
  try {
    const layers = plan.layers.map((layer, i) =>
      layerOf(runtime, layer, memory.layers[i] as LayerMemory, instances[i] as KernelInstance),
    );
    return { memory, layers };
  } catch (error) {
    memory.dispose();
    throw error;
  }
}

function requireInstance(layer: LayerPlan): KernelInstance {
  const choice = chooseInstance(layer);
  if (choice.instance !== undefined) return choice.instance;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: 'the CUDA backend has no kernels for this plan',
    value: choice.reasons.join('; '),
    valid: 'a plan that `supports` calls native',
    next: 'Ask `supports` before a cache is created, or use another backend.',
    where: { layer: layer.layer },
  });
}

function layerOf(
  runtime: Runtime,
  plan: LayerPlan,
  memory: LayerMemory,
  instance: KernelInstance,
): Layer {
  const tensor = (name: 'key' | 'value'): LayerTensor => ({
    memory: memory[name],
    pages: new FragmentPages(runtime.module('pack'), packInstanceOf(instance, name), memory[name]),
  });
  return {
    plan,
    key: tensor('key'),
    value: tensor('value'),
    attention: new LayerAttention({
      module: runtime.module('attend'),
      instance,
      warps: warpsOf(runtime, instance),
      plan,
      memory,
    }),
    pageTokens: { key: PAGE_TOKENS, value: PAGE_TOKENS },
  };
}

function warpsOf({ image }: Runtime, { name }: KernelInstance): number {
  const warps = image.parts.attend.kernels[name]?.warps;
  if (warps !== undefined) return warps;
  throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel image does not say how many warps a kernel has',
    value: name,
    valid: 'the images of this version',
    next: 'Build the images again from the sources of this version.',
  });
}
