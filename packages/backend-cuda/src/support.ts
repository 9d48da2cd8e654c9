/**
 * Which kernels the layers of a plan take: those of the instance table where there is one, else general ones.
 */
import {
  type BackendSupport,
  type LayerPlan,
  type Plan,
  unexecutedFeatures,
} from '@lowbit-kv/core';
import { chooseInstance } from './choose-instance.js';
import { GENERAL_ATTEND_KERNEL } from './general/structs.js';
import type { KernelInstance } from './instances.js';

/**
 * `bandwidth`: attention reads long contexts at 90 to 98 % of what the card's memory gives, measured on an H200. `general`:
 * any plan but codecs, at several times that time; docs/kernels-cuda.md has figures.
 */
export type SpeedClass = 'bandwidth' | 'general';

/** What a layer of a plan runs on. */
export interface LayerKernels {
  /** Of attention. */
  readonly name: string;
  readonly speed: SpeedClass;
  /** Undefined for general kernels. */
  readonly instance: KernelInstance | undefined;
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
  const { instance, ...choice } = chooseInstance(layer);
  return instance === undefined
    ? {
        name: GENERAL_ATTEND_KERNEL,
        speed: 'general',
        instance,
        reasons: 'reasons' in choice ? choice.reasons : [],
      }
    : { name: instance.name, speed: 'bandwidth', instance, reasons: [] };
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
