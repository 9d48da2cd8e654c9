/**
 * The backend over a GPUDevice of the caller.
 */
import { type Backend, type BackendSupport, LowbitKvError, type Plan } from '@lowbit-kv/core';
import type { BufferPool } from './device/buffer-pool.js';
import { GpuContext } from './device/context.js';
import type { Recording } from './device/recorder.js';
import { refusals } from './refusals.js';
import type { Precision, ShaderOptions } from './shaders/attention-programs.js';
import { partialBytes, roundQueries } from './store/attend.js';
import { importKernels, type LayerKernels, planKernels } from './store/kernels.js';
import { scratchBytes, WebGpuStore } from './store/webgpu-store.js';

export interface WebGpuBackendOptions {
  readonly device: GPUDevice;
  /** Default `exact`. */
  readonly precision?: Precision;
  /** Default: whatever the browser says `navigator.gpu` understands. */
  readonly wgslLanguageFeatures?: ReadonlySet<string>;
}

/** What steps will need at most; see `WebGpuBackend.warmUp`. */
export interface WarmUpOptions {
  /** New tokens of one step, over all sequences. */
  readonly tokens: number;
  /** Queries of one attend, over all sequences. */
  readonly queries: number;
  /** Recordings that are open at once. Default 1. */
  readonly recordings?: number;
}

export interface WebGpuBackend extends Backend {
  readonly device: GPUDevice;
  /**
   * What `work` asks of caches of this backend (append, attend) goes into an encoder of the caller, in compute passes of
   * its own; nothing is submitted. Submit the encoder, then call `submitted` of the recording: until then these caches refuse
   * other work. Several recordings may wait, in one encoder or in several that are submitted in order. When `work`
   * throws, its steps are to be abandoned, and the encoder cannot be submitted any more.
   */
  record(encoder: GPUCommandEncoder, work: () => void): Recording;
  /**
   * Makes the pipelines of a plan and the scratch of its steps. After it, and after a first step has filled the pools of
   * buffers, append and attend make neither pipelines nor buffers.
   */
  warmUp(plan: Plan, options: WarmUpOptions): Promise<void>;
  /** Frees what caches share. Dispose them first. The device stays the caller's. */
  dispose(): void;
}

export function webgpuBackend({
  device,
  precision = 'exact',
  wgslLanguageFeatures = languageFeatures(),
}: WebGpuBackendOptions): WebGpuBackend {
  const { subgroupMinSize, subgroupMaxSize } = device.adapterInfo;
  const shaders: ShaderOptions = {
    precision,
    subgroupsOf32:
      device.features.has('subgroups') && subgroupMinSize === 32 && subgroupMaxSize === 32,
    integerDots: wgslLanguageFeatures.has('packed_4x8_integer_dot_product'),
  };
  let shared: GpuContext | undefined;
  const context = () => {
    shared ??= new GpuContext(device);
    return shared;
  };
  return {
    specVersion: 1,
    id: 'webgpu',
    device,
    probe: async () => ({ ok: true, device: describeDevice(device, shaders) }),
    supports: supportOf,
    createStore: (plan, options) => WebGpuStore.create(context(), shaders, plan, options),
    record: (encoder, work) => context().recorder.record(encoder, work),
    warmUp: (plan, options) => warmUp(context(), shaders, plan, options),
    dispose() {
      shared?.dispose();
    },
  };
}

/** Adapter, driver, and what of it decides which shaders run. */
function describeDevice({ adapterInfo, limits }: GPUDevice, shaders: ShaderOptions): string {
  const { vendor, architecture, description, subgroupMinSize, subgroupMaxSize } = adapterInfo;
  const gibibytes = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize) / 2 ** 30;
  return [
    [vendor, architecture, description].filter(Boolean).join(' ') || 'unnamed adapter',
    `subgroups of ${subgroupMinSize} to ${subgroupMaxSize}${shaders.subgroupsOf32 ? '' : ', not used'}`,
    `integer dot products ${shaders.integerDots ? 'used' : 'missing'}`,
    `tensors of a layer up to ${gibibytes.toFixed(2)} GiB`,
  ].join('; ');
}

async function warmUp(
  context: GpuContext,
  shaders: ShaderOptions,
  plan: Plan,
  { tokens, queries, recordings = 1 }: WarmUpOptions,
): Promise<void> {
  for (const [name, value] of Object.entries({ tokens, queries, recordings })) {
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${name} of warmUp is not a count`,
      value,
      valid: 'a whole number from 1 on',
      next: 'Give the largest number that a step will have.',
    });
  }
  context.check();
  const { pipelines, recorder, scratch, prepared, partials, inputs, results } = context;
  const [kernels] = await Promise.all([
    planKernels(pipelines, shaders, plan.layers),
    importKernels(pipelines),
  ]);
  recorder.prepare(recordings);
  scratch.atLeast(scratchBytes(plan));
  const warm: [BufferPool, GPUBuffer][] = [];
  const make = (pool: BufferPool, bytes: number) => warm.push([pool, pool.take(bytes)]);
  for (const [i, { geometry }] of plan.layers.entries()) {
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const { attention } = kernels[i] as LayerKernels;
    const together = Math.min(queries, roundQueries(queryHeads, attention.partialWords));
    prepared.atLeast(together * queryHeads * attention.queryWords * 4);
    partials.atLeast(partialBytes(attention, queries, queryHeads));
    make(inputs, tokens * kvHeads * (keyHeadDim + valueHeadDim) * 2 + 16);
    // Inputs of all layers live until the step ends; queries and results of one attend are given back before the next.
    if (i > 0) continue;
    make(inputs, queries * queryHeads * keyHeadDim * 4);
    make(results, queries * queryHeads * valueHeadDim * 4);
    make(results, queries * queryHeads * 4);
  }
  for (const [pool, buffer] of warm) pool.give(buffer);
}

function supportOf(plan: Plan): BackendSupport {
  const reasons = refusals(plan);
  return reasons.length === 0 ? { kind: 'native' } : { kind: 'refused', reasons };
}

/** Of the browser; none where there is no `navigator.gpu`. */
function languageFeatures(): ReadonlySet<string> {
  const { navigator } = globalThis as { readonly navigator?: { readonly gpu?: GPU } };
  return navigator?.gpu?.wgslLanguageFeatures ?? new Set();
}
