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
import type { CudaCodec } from './codecs/codec-source.js';
import { GENERAL_ATTEND_KERNEL } from './general/structs.js';
import type { BandInstance, KernelInstance } from './instances.js';
import type { NvrtcSearch } from './nvrtc/library.js';
import { NVRTC_ADVICE } from './nvrtc/nvrtc.js';

/**
 * `bandwidth`: attention reads long contexts at 80 to 98 % of what the card's memory gives, measured on an H200. `compute`: by a kernel
 * for the plan whose arithmetic takes longer than that. `general`: any plan, at many times that time.
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

/** `nvrtc` is searched for when a plan needs it. */
export function supportOf(plan: Plan, nvrtc: () => NvrtcSearch): CudaSupport {
  const refused = plan.layers.flatMap((layer) => refusals(layer, nvrtc));
  const reasons = new Set([...unexecutedFeatures(plan), ...refused]);
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
  return { name: GENERAL_ATTEND_KERNEL, speed: 'general', instance, reasons };
}

/** Of a layer, each once: kernels know them by their places. */
export function codecsOf({ key, value }: LayerPlan): readonly CudaCodec[] {
  const codecs = [key.codec, value.codec].filter((codec) => codec !== undefined);
  return [...new Set(codecs)] as CudaCodec[];
}

function refusals({ key, value, geometry }: LayerPlan, nvrtc: () => NvrtcSearch): string[] {
  const reasons: string[] = [];
  for (const { tensor, codec, scheme } of [key, value]) {
    if (scheme.bits === 16 || scheme.quantizer.mode !== 'codec') continue;
    const name = JSON.stringify(scheme.quantizer.codes);
    if (codec === undefined)
      reasons.push(`${tensor}: the plan does not carry its codec ${name}: make it again`);
    else if (codec.cuda === undefined)
      reasons.push(`${tensor}: the codec ${name} brings no text for CUDA`);
    else if (nvrtc().found.length === 0) reasons.push(`${tensor}: ${withoutNvrtc(name, nvrtc())}`);
  }
  if (geometry.kvHeads > MOST_HEADS)
    reasons.push(`${geometry.kvHeads} kv heads are more than a launch has`);
  return reasons;
}

function withoutNvrtc(codec: string, { failures }: NvrtcSearch): string {
  const tried = [...failures].map(([reason, libraries]) => `${libraries.join(', ')}: ${reason}`);
  return `the codec ${codec} is compiled by NVRTC, which does not load (${tried.join('; ') || 'not for this platform'}): ${NVRTC_ADVICE}`;
}
