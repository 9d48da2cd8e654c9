// Only type-checked, under moduleResolution nodenext: the public types are usable from a strict project.
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import {
  type AttentionResult,
  type Cache,
  createLowbitKv,
  f16Tensor,
  type Geometry,
  LowbitKvError,
  type Plan,
  type Scheme,
} from '@lowbit-kv/core';
import { type CompareReport, compareSchemes, openCapture } from '@lowbit-kv/harness';
import { presets as innerqPresets } from '@lowbit-kv/scheme-innerq';
import { kivi, presets as kiviPresets } from '@lowbit-kv/scheme-kivi';
import { presets as oakenPresets } from '@lowbit-kv/scheme-oaken';
import { processTerminal, run } from 'lowbit-kv';

export const mine = {
  specVersion: 1,
  id: 'mine',
  title: 'Mine',
  sinks: 0,
  packing: 'before-attention',
  key: {
    bits: 4,
    groups: { along: 'channels', size: 32 },
    quantizer: { mode: 'symmetric', codes: 'signmag' },
    parameters: { scale: 'f16' },
    window: { recent: 0, flush: 1 },
  },
  value: { bits: 16 },
  calibration: { kind: 'none' },
} as const satisfies Scheme;

// @ts-expect-error five bits are no scheme
export const wrong: Scheme = { ...mine, key: { ...mine.key, bits: 5 } };

const geometry: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

export async function use(): Promise<AttentionResult> {
  const kv = createLowbitKv({
    schemes: [kiviPresets, innerqPresets, oakenPresets, mine],
    backends: [onnxBackend()],
  });
  const plan: Plan = kv.plan('mine', geometry);
  const cache: Cache = await kv.createCache(plan, { capacity: { tokens: 64 } });
  try {
    return cache.attend(0, f16Tensor(new Uint16Array(256), [1, 4, 64]), [cache.createSequence()]);
  } catch (error) {
    if (LowbitKvError.is(error, 'TENSOR_INVALID'))
      process.exitCode = await run([], processTerminal());
    throw error;
  }
}

export async function report(path: string): Promise<CompareReport> {
  const capture = await openCapture(path);
  const backend = createLowbitKv().backends.get('reference');
  return compareSchemes({ capture, schemes: [kivi({ bits: 2, groupSize: 32 })], backend });
}

declare const process: { exitCode?: number };
