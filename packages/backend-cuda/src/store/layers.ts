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
import { bandAttention } from '../attend/band-attention.js';
import { LayerAttention } from '../attend/layer-attention.js';
import type { AttentionLaunch, BuiltKernel } from '../attend/prepared-attention.js';
import { PAGE_TOKENS } from '../attend/structs.js';
import { chooseAppendInstance, chooseRowsInstances } from '../choose-instance.js';
import type { CudaCodec } from '../codecs/codec-source.js';
import { disposeAll } from '../driver/dispose-all.js';
import { DeviceTensor } from '../general/device-tensor.js';
import { GeneralAppend } from '../general/general-append.js';
import { generalAttention } from '../general/general-attention.js';
import { GeneralPages, type GeneralPagesOptions } from '../general/general-pages.js';
import type { Part } from '../images.js';
import type { AppendInstance, BandInstance, KernelInstance } from '../instances.js';
import { fragmentPageBytes, type LayerMemory, StoreMemory } from '../memory/store-memory.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { outlierWords } from '../pages/outlier-words.js';
import type { Runtime } from '../runtime.js';
import { codecsOf, kernelsOf, supportOf } from '../support.js';
import type { AppendLaunch } from './append-launch.js';
import { FragmentAppend } from './fragment-append.js';
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
  readonly append: AppendLaunch;
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

/** Throws DEVICE_OUT_OF_MEMORY, PLAN_REFUSED for plans without kernels, CODEC_INVALID, KERNEL_IMAGE_INVALID. */
export function createLayers(runtime: Runtime, plan: Plan, { pages }: StoreOptions): LayerSet {
  requireSupport(runtime, plan);
  const instances = plan.layers.map((layer) => kernelsOf(layer).instance);
  const packedBytes = (tensor: TensorPlan, layer: number) =>
    hasFragments(instances[layer]) ? fragmentPageBytes(tensor) : (tensor.layout?.pageBytes ?? 0);
  const memory = StoreMemory.allocate(runtime.stream, plan, pages, packedBytes);
  const made: { dispose(): void }[] = [memory];
  const dispose = () => disposeAll(made.toReversed());
  try {
    const layers = plan.layers.map((layer, i) => {
      const own = memory.layers[i] as LayerMemory;
      const instance = instances[i];
      if (hasFragments(instance)) return fragmentLayer(runtime, layer, own, instance, made);
      return canonicalLayer(runtime, layer, own, instance, made);
    });
    return { memory, layers, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Whether pages are in fragment order; they are canonical where not, but for outliers that are words. */
function hasFragments(
  instance: KernelInstance | BandInstance | undefined,
): instance is KernelInstance {
  return instance !== undefined && 'key' in instance;
}

function requireSupport({ nvrtc }: Runtime, plan: Plan): void {
  const support = supportOf(plan, nvrtc);
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
  const pagesOf = (name: 'key' | 'value') =>
    new FragmentPages(plan[name] as PackedTensorPlan, statistics(name));
  const pages = { key: pagesOf('key'), value: pagesOf('value') };
  return {
    plan,
    key: { memory: memory.key, pages: pages.key },
    value: { memory: memory.value, pages: pages.value },
    append: new FragmentAppend({
      // Where attention has a kernel, appending has one.
      instance: chooseAppendInstance(plan) as AppendInstance,
      ...{ runtime, plan, memory, pages },
    }),
    attention: new LayerAttention({
      ...builtKernel(runtime, 'attend', instance),
      plan,
      memory,
      rows: chooseRowsInstances(plan).map((rows) => builtKernel(runtime, 'rows', rows)),
    }),
    pageTokens: {
      key: (plan.key as PackedTensorPlan).layout.blockTokens,
      value: (plan.value as PackedTensorPlan).layout.blockTokens,
    },
    entryTokens: PAGE_TOKENS,
  };
}

/** Packed by general kernels; `instance`: what attention takes, if not the general kernel. */
function canonicalLayer(
  runtime: Runtime,
  plan: LayerPlan,
  memory: LayerMemory,
  instance: BandInstance | undefined,
  made: { dispose(): void }[],
): Layer {
  const codecs = codecsOf(plan);
  const module = codecs.length === 0 ? runtime.module('general') : runtime.codecModules.of(codecs);
  const hasOutlierWords = instance !== undefined;
  const tensors = {
    key: numbersOf(runtime, plan, 'key', made, hasOutlierWords),
    value: numbersOf(runtime, plan, 'value', made, hasOutlierWords),
  };
  const pagesOf = (name: 'key' | 'value') => {
    if (plan[name].layout === null) return;
    const words = hasOutlierWords ? outlierWords(plan[name] as PackedTensorPlan) : undefined;
    return generalPages(runtime, plan, memory[name], tensors[name], { module, words });
  };
  const pages = { key: pagesOf('key'), value: pagesOf('value') };
  return {
    plan,
    key: { memory: memory.key, pages: pages.key },
    value: { memory: memory.value, pages: pages.value },
    append: new GeneralAppend({ moves: runtime.moves, memory, pages }),
    attention:
      instance === undefined
        ? generalAttention({ module, plan, memory, ...tensors })
        : bandAttention({
            ...builtKernel(runtime, 'bands', instance),
            plan,
            memory,
          }),
    pageTokens: {
      key: plan.key.layout?.blockTokens ?? 1,
      value: plan.value.layout?.blockTokens ?? 1,
    },
    entryTokens: instance === undefined ? undefined : PAGE_TOKENS,
  };
}

function numbersOf(
  runtime: Runtime,
  plan: LayerPlan,
  name: 'key' | 'value',
  made: { dispose(): void }[],
  hasOutlierWords = false,
): DeviceTensor {
  const rotary = name === 'key' ? plan.geometry.rotary : null;
  // 0 where it has none.
  const codec = 1 + codecsOf(plan).indexOf(plan[name].codec as CudaCodec);
  const tensor = new DeviceTensor(runtime.context, plan[name], { rotary, codec, hasOutlierWords });
  made.push(tensor);
  return tensor;
}

function generalPages(
  runtime: Runtime,
  { layer }: LayerPlan,
  memory: TensorMemory,
  tensor: DeviceTensor,
  {
    module = runtime.module('general'),
    words,
  }: Partial<Pick<GeneralPagesOptions, 'module' | 'words'>> = {},
): GeneralPages {
  return new GeneralPages({ module, memory, tensor, scratch: runtime.pool, layer, words });
}

function builtKernel<Instance extends { readonly name: string }>(
  runtime: Runtime,
  part: Part,
  instance: Instance,
): BuiltKernel<Instance> {
  const { name } = instance;
  const warps = runtime.image.parts[part].kernels[name]?.warps;
  if (warps !== undefined) return { module: runtime.module(part, name), instance, warps };
  throw new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel image does not say how many warps a kernel has',
    value: name,
    valid: 'the images of this version',
    next: 'Build the images again from the sources of this version.',
  });
}
