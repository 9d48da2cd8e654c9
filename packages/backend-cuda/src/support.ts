/**
 * Which kernels the layers of a plan take: those of the instance table where there is one, else general ones.
 */
import {
  type BackendSupport,
  type LayerPlan,
  type Plan,
  unexecutedFeatures,
} from '@lowbit-kv/core';
import { chooseBandInstance, chooseInstance, hasBands } from './choose-instance.js';
import type { BandInstance, KernelInstance } from './instances.js';

/**
 * `bandwidth`: attention reads long contexts at 80 to 98 % of what the card's memory gives, measured on an H200. `compute`: by a kernel
 * for the plan whose arithmetic takes longer than that. `general`: any plan but codecs, at many times that time.
 * docs/kernels-cuda.md has figures.
 */
export type SpeedClass = 'bandwidth' | 'compute' | 'general';

/** What a layer of a plan runs on. */
export interface LayerKernels {
  /** Of attention. */
  readonly name: string;
  readonly speed: SpeedClass;
  /** Undefined for general kernels; those of outlier bands have no `key`. */
  readonly instance: KernelInstance | BandInstance | undefined;
  /** Why the plan takes no faster kernel; empty where there is none faster. */
  readonly reasons: readonly string[];
}

/** What `Backend.supports` says; `kernels` as `Plan.layers`. */
export type CudaSupport =
  | { readonly kind: 'native'; readonly kernels: readonly LayerKernels[] }
  | Extract<BackendSupport, { kind: 'refused' }>;

/** Kv heads are a dimension of the grid. */
const MOST_HEADS = 65_535;

export function supportOf(plan: Plan): CudaSupport {
  const reasons = new Set([...unexecutedFeatures(plan), ...plan.layers.flatMap(refusals)]);
  return reasons.size === 0
    ? { kind: 'native', kernels: plan.layers.map(kernelsOf) }
    : { kind: 'refused', reasons: [...reasons] };
}

export function kernelsOf(layer: LayerPlan): LayerKernels {
  const isBands = hasBands(layer.key) && hasBands(layer.value);
  const { instance, ...choice } = isBands ? chooseBandInstance(layer) : chooseInstance(layer);
  if (instance !== undefined)
    return { name: instance.name, speed: isBands ? 'compute' : 'bandwidth', instance, reasons: [] };
  const reasons = 'reasons' in choice ? choice.reasons : [];
  return { name: 'general_attend', speed: 'general', instance, reasons };
}

function refusals({ key, value, geometry }: LayerPlan): string[] {
  const reasons: string[] = [];
  for (const { tensor, codec } of [key, value]) {
    if (codec !== undefined)
      reasons.push(`${tensor}: the codec ${JSON.stringify(codec.id)} brings no text for CUDA`);
  }
  if (geometry.kvHeads > MOST_HEADS)
    reasons.push(`${geometry.kvHeads} kv heads are more than a launch has`);
  return reasons;
}
