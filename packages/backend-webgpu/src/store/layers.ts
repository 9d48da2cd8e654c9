/**
 * The layers of a cache on a device: pages, kernels, and which heads lie together.
 */
import {
  type LayerPlan,
  LowbitKvError,
  type PageRequest,
  type Plan,
  type StoreOptions,
  type TensorPlan,
} from '@lowbit-kv/core';
import type { GpuContext } from '../device/context.js';
import { fittingParts } from '../device/limits.js';
import { orderOf, type ShaderOptions } from '../shaders/attention-programs.js';
import type { CodeOrder } from '../shaders/code-order.js';
import { tensorNumbers } from '../shaders/tensor-numbers.js';
import { type LayerKernels, planKernels } from './kernels.js';
import { TensorMemory } from './tensor-memory.js';

export interface Layer {
  readonly plan: LayerPlan;
  readonly order: CodeOrder;
  /** All heads, unless their tensors are too large for one buffer. */
  readonly parts: readonly LayerPart[];
}

/** Kv heads of a layer whose pages lie in the same buffers. */
export interface LayerPart {
  /** Unique in the store. */
  readonly number: number;
  readonly firstHead: number;
  readonly plan: LayerPlan;
  readonly key: TensorMemory;
  readonly value: TensorMemory;
  readonly kernels: LayerKernels;
}

/** Throws BACKEND_FAILED when the device has too little memory, or buffers that are too small. */
export async function createLayers(
  context: GpuContext,
  shaders: ShaderOptions,
  plan: Plan,
  options: StoreOptions,
): Promise<Layer[]> {
  const { device, pipelines } = context;
  const split = fittingParts(device, plan, options);
  const kernels = await planKernels(pipelines, shaders, split.flat());
  context.check();
  const layers: Layer[] = [];
  device.pushErrorScope('validation');
  device.pushErrorScope('out-of-memory');
  let number = 0;
  for (const [i, layer] of plan.layers.entries()) {
    const memory = (tensor: TensorPlan) =>
      new TensorMemory(
        device,
        tensor,
        options.pages[tensor.class] ?? { packed: 0, window: 0, statistics: 0 },
        tensorNumbers(tensor, tensor.tensor === 'key' ? layer.geometry.rotary : null).words,
      );
    const parts = (split[i] as LayerPlan[]).map((part, p) => ({
      number,
      firstHead: p * part.geometry.kvHeads,
      plan: part,
      key: memory(part.key),
      value: memory(part.value),
      kernels: kernels[number++] as LayerKernels,
    }));
    layers.push({ plan: layer, order: orderOf(layer, shaders), parts });
  }
  const [memory, validation] = await Promise.all([device.popErrorScope(), device.popErrorScope()]);
  const error = memory ?? validation;
  if (error === null) return layers;
  for (const buffer of pageBuffers(layers)) buffer.destroy();
  throw new LowbitKvError('BACKEND_FAILED', {
    message:
      memory === null
        ? 'the GPU refused the pages of the cache'
        : 'the GPU has too little memory for the pages of the cache',
    value: error.message,
    valid: 'a capacity whose pages fit beside everything else on the GPU',
    next: 'Create the cache with a smaller capacity, or free other buffers first.',
  });
}

export function pageBuffers(layers: readonly Layer[]): GPUBuffer[] {
  return layers
    .flatMap(({ parts }) => parts)
    .flatMap(({ key, value }) => [key.buffer, value.buffer]);
}

/** Bytes of a page of a part, and planes of a page: of statistics one for each transform that takes some. */
export function partShape(
  { plan, parts: [first] }: Layer,
  { tensor, kind }: PageRequest,
): [number, number] {
  const { heads, headDim, statisticsPageBytes } = plan[tensor];
  const planes = kind === 'statistics' ? statisticsPageBytes / (heads * headDim * 2) : 1;
  return [(first as LayerPart)[tensor].sizeOf(kind), planes];
}
