/**
 * The layers of a cache on a card: their pages, and the kernels that work on them.
 */
import {
  type LayerPlan,
  LowbitKvError,
  type PackedTensorPlan,
  type Plan,
  type StoreOptions,
  type TensorPlan,
} from '@lowbit-kv/core';
import {
  type AttentionLaunch,
  type BuiltKernel,
  LayerAttention,
} from '../attend/layer-attention.js';
import { PAGE_TOKENS } from '../attend/structs.js';
import { choosePackInstance, chooseRowsInstances } from '../choose-instance.js';
import { disposeAll } from '../driver/dispose-all.js';
import { DeviceTensor } from '../general/device-tensor.js';
import { GeneralAttention } from '../general/general-attention.js';
import { GeneralPages } from '../general/general-pages.js';
import type { KernelInstance, PackInstance } from '../instances.js';
import { fragmentPageBytes, type LayerMemory, StoreMemory } from '../memory/store-memory.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import type { Runtime } from '../runtime.js';
import { kernelsOf, supportOf } from '../support.js';
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
  /** Most tokens of a page entry of the kernel; undefined where there is no limit. */
  readonly entryTokens: number | undefined;
}

export interface LayerSet {
  readonly memory: StoreMemory;
  readonly layers: readonly Layer[];
  dispose(): void;
}

/** Throws DEVICE_OUT_OF_MEMORY, PLAN_REFUSED for plans without kernels, KERNEL_IMAGE_INVALID. */
export function createLayers(runtime: Runtime, plan: Plan, { pages }: StoreOptions): LayerSet {
  requireSupport(plan);
  const instances = plan.layers.map((layer) => kernelsOf(layer).instance);
  const packedBytes = (tensor: TensorPlan, layer: number) =>
    instances[layer] === undefined ? (tensor.layout?.pageBytes ?? 0) : fragmentPageBytes(tensor);
  const memory = StoreMemory.allocate(runtime.stream, plan, pages, packedBytes);
  const made: { dispose(): void }[] = [memory];
  const dispose = () => disposeAll(made.toReversed());
  try {
    const layers = plan.layers.map((layer, i) => {
      const own = memory.layers[i] as LayerMemory;
      const instance = instances[i];
      if (instance !== undefined) return fragmentLayer(runtime, layer, own, instance, made);
      return generalLayer(runtime, layer, own, made);
    });
    return { memory, layers, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function requireSupport(plan: Plan): void {
  const support = supportOf(plan);
  if (support.kind === 'native') return;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: 'the CUDA backend has no kernels for this plan',
    value: support.reasons.join('; '),
    valid: 'a plan that `supports` calls native',
    next: 'Ask `supports` before a cache is created, or use another backend.',
  });
}

function fragmentLayer(
  runtime: Runtime,
  plan: LayerPlan,
  memory: LayerMemory,
  instance: KernelInstance,
  made: { dispose(): void }[],
): Layer {
  // Sequences are measured by the kernels that measure any plan.
  const statistics = (name: 'key' | 'value') =>
    plan[name].statisticsPageBytes === 0
      ? undefined
      : generalPages(runtime, plan, memory[name], numbersOf(runtime, plan, name, made));
  const tensor = (name: 'key' | 'value'): LayerTensor => ({
    memory: memory[name],
    pages: new FragmentPages(
      runtime,
      // Where attention has a kernel, packing has one.
      choosePackInstance(plan[name] as PackedTensorPlan) as PackInstance,
      memory[name],
      statistics(name),
    ),
  });
  return {
    plan,
    key: tensor('key'),
    value: tensor('value'),
    attention: new LayerAttention({
      ...builtKernel(runtime, instance),
      plan,
      memory,
      rows: chooseRowsInstances(plan).map((rows) => builtKernel(runtime, rows)),
    }),
    pageTokens: {
      key: (plan.key as PackedTensorPlan).layout.blockTokens,
      value: (plan.value as PackedTensorPlan).layout.blockTokens,
    },
    entryTokens: PAGE_TOKENS,
  };
}

function generalLayer(
  runtime: Runtime,
  plan: LayerPlan,
  memory: LayerMemory,
  made: { dispose(): void }[],
): Layer {
  const tensors = {
    key: numbersOf(runtime, plan, 'key', made),
    value: numbersOf(runtime, plan, 'value', made),
  };
  const tensor = (name: 'key' | 'value'): LayerTensor => ({
    memory: memory[name],
    pages:
      plan[name].layout === null
        ? undefined
        : generalPages(runtime, plan, memory[name], tensors[name]),
  });
  return {
    plan,
    key: tensor('key'),
    value: tensor('value'),
    attention: new GeneralAttention({
      module: runtime.module('general'),
      plan,
      memory,
      ...tensors,
    }),
    pageTokens: {
      key: plan.key.layout?.blockTokens ?? 1,
      value: plan.value.layout?.blockTokens ?? 1,
    },
    entryTokens: undefined,
  };
}

function numbersOf(
  runtime: Runtime,
  plan: LayerPlan,
  name: 'key' | 'value',
  made: { dispose(): void }[],
): DeviceTensor {
  const rotary = name === 'key' ? plan.geometry.rotary : null;
  const tensor = new DeviceTensor(runtime.context, plan[name], rotary);
  made.push(tensor);
  return tensor;
}

function generalPages(
  runtime: Runtime,
  { layer }: LayerPlan,
  memory: TensorMemory,
  tensor: DeviceTensor,
): GeneralPages {
  const module = runtime.module('general');
  return new GeneralPages({ module, memory, tensor, scratch: runtime.pool, layer });
}

function builtKernel<Instance extends { readonly name: string }>(
  runtime: Runtime,
  instance: Instance,
): BuiltKernel<Instance> {
  const { name } = instance;
  const warps = runtime.image.parts.attend.kernels[name]?.warps;
  if (warps !== undefined) return { module: runtime.module('attend', name), instance, warps };
  throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel image does not say how many warps a kernel has',
    value: name,
    valid: 'the images of this version',
    next: 'Build the images again from the sources of this version.',
  });
}
